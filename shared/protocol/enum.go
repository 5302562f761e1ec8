package protocol

import "strings"

// CreateMode is what to do when the namespace or table to be created exists.
type CreateMode uint8

// The create modes; the first is the default.
const (
	CreateModeCreate    CreateMode = iota // fail
	CreateModeExistOk                     // keep what exists
	CreateModeOverwrite                   // replace it
)

var createModes = NewEnum("mode", "Create", "ExistOk", "Overwrite")

// String returns the PascalCase spelling.
func (m CreateMode) String() string { return createModes.Text(uint8(m)) }

// MarshalText writes the same text as String. The error is for an unknown value.
func (m CreateMode) MarshalText() ([]byte, error) { return createModes.Marshal(uint8(m)) }

// UnmarshalText accepts PascalCase and snake_case in any case.
func (m *CreateMode) UnmarshalText(text []byte) error { return createModes.Parse(text, (*uint8)(m)) }

// DistanceType is how near two vectors are.
type DistanceType uint8

// The distance types; the first means that the request names none.
const (
	DistanceUnset   DistanceType = iota
	DistanceL2                   // squared Euclidean distance
	DistanceCosine               // 1 - cosine
	DistanceDot                  // 1 - dot product
	DistanceHamming              // differing bits
)

var distanceTypes = NewEnum("distance_type", "", "l2", "cosine", "dot", "hamming")

// String returns the lower-case spelling that clients parse, and "" for DistanceUnset.
func (d DistanceType) String() string { return distanceTypes.Text(uint8(d)) }

// MarshalText writes the same text as String. The error is for an unknown value.
func (d DistanceType) MarshalText() ([]byte, error) { return distanceTypes.Marshal(uint8(d)) }

// UnmarshalText accepts the spellings and their aliases (euclidean, inner_product) in any case.
func (d *DistanceType) UnmarshalText(text []byte) error {
	switch fold(string(text)) {
	case "euclidean":
		*d = DistanceL2
		return nil
	case "innerproduct":
		*d = DistanceDot
		return nil
	}
	return distanceTypes.Parse(text, (*uint8)(d))
}

// An Enum holds the spellings of an enumeration by value, and the name of its field.
type Enum struct {
	field  string
	values []string
}

// NewEnum returns the enumeration of a field. values are the spellings of the values from 0 on; a value that requests
// cannot name has "".
func NewEnum(field string, values ...string) Enum { return Enum{field, values} }

// Text returns the spelling of a value, and "invalid" for an unknown one.
func (e Enum) Text(v uint8) string {
	if int(v) >= len(e.values) {
		return "invalid"
	}
	return e.values[v]
}

// Marshal returns the spelling of a value. An unknown value has none and is an error.
func (e Enum) Marshal(v uint8) ([]byte, error) {
	if int(v) >= len(e.values) {
		return nil, Errorf(InvalidInput, "%s %d is not known; the last value is %d, %s", e.field, v, len(e.values)-1, e.values[len(e.values)-1])
	}
	return []byte(e.values[v]), nil
}

// Parse sets v to the value of a spelling. No text at all is the default, as without the field.
func (e Enum) Parse(text []byte, v *uint8) error {
	if len(text) == 0 {
		*v = 0
		return nil
	}
	given := fold(string(text))
	accepted := make([]string, 0, len(e.values))
	for i, value := range e.values {
		if value == "" {
			continue // the unset value has no spelling
		}
		if given == fold(value) {
			*v = uint8(i)
			return nil
		}
		accepted = append(accepted, value)
	}
	// Some clients show their users nothing but the message, so all is in there.
	return Errorf(InvalidInput, "%s %s is not known; accepted values: %s",
		e.field, QuoteShort(string(text)), strings.Join(accepted, ", "))
}

// fold makes PascalCase, snake_case and any mixture of cases equal.
func fold(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }
