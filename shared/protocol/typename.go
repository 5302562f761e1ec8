package protocol

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// plainTypes are the types that a word names completely, in either vocabulary.
var plainTypes = map[string]arrow.DataType{
	"null": arrow.Null, "bool": arrow.FixedWidthTypes.Boolean, "boolean": arrow.FixedWidthTypes.Boolean,
	"int8": arrow.PrimitiveTypes.Int8, "int16": arrow.PrimitiveTypes.Int16,
	"int32": arrow.PrimitiveTypes.Int32, "int64": arrow.PrimitiveTypes.Int64,
	"uint8": arrow.PrimitiveTypes.Uint8, "uint16": arrow.PrimitiveTypes.Uint16,
	"uint32": arrow.PrimitiveTypes.Uint32, "uint64": arrow.PrimitiveTypes.Uint64,
	"float16": arrow.FixedWidthTypes.Float16, "halffloat": arrow.FixedWidthTypes.Float16,
	"float32": arrow.PrimitiveTypes.Float32, "float": arrow.PrimitiveTypes.Float32,
	"float64": arrow.PrimitiveTypes.Float64, "double": arrow.PrimitiveTypes.Float64,
	"utf8": arrow.BinaryTypes.String, "string": arrow.BinaryTypes.String,
	"large_utf8": arrow.BinaryTypes.LargeString, "large_string": arrow.BinaryTypes.LargeString,
	"binary": arrow.BinaryTypes.Binary, "large_binary": arrow.BinaryTypes.LargeBinary,
	"date32": arrow.FixedWidthTypes.Date32, "date32:day": arrow.FixedWidthTypes.Date32,
	"date64": arrow.FixedWidthTypes.Date64, "date64:ms": arrow.FixedWidthTypes.Date64,
	"timestamp": &arrow.TimestampType{Unit: arrow.Microsecond},
	"duration":  arrow.FixedWidthTypes.Duration_us,
}

var timeUnits = map[string]arrow.TimeUnit{
	"s": arrow.Second, "ms": arrow.Millisecond, "us": arrow.Microsecond, "ns": arrow.Nanosecond,
}

// decodeType decodes one type from [EncodeSchema], in either vocabulary. If a word omits a part, it
// is completed as in native Lance: timestamps are in microseconds.
func decodeType(t JSONType, depth int) (arrow.DataType, error) {
	bad := func(why string) (arrow.DataType, error) {
		return nil, Errorf(InvalidInput, "data type %s %s", QuoteShort(t.Type), why)
	}
	if depth > maxTypeNesting {
		return bad("is nested too deep")
	}
	word := strings.ToLower(t.Type)
	if plain, ok := plainTypes[word]; ok {
		return plain, nil
	}
	if name, rest, ok := strings.Cut(t.Type, ":"); ok {
		if typ := typeWithParts(strings.ToLower(name), rest); typ != nil {
			return typ, nil
		}
		return bad("is not known")
	}
	switch word {
	case "fixed_size_binary":
		if t.Length == nil || *t.Length < 1 || *t.Length > 1<<30 {
			return bad("needs a length")
		}
		return &arrow.FixedSizeBinaryType{ByteWidth: int(*t.Length)}, nil
	case "decimal128", "decimal256":
		if t.Length == nil {
			return bad("needs a length, which is precision*1000 + scale")
		}
		precision := (*t.Length + 128) / 1000
		if typ := decimalType(word[len("decimal"):], precision, *t.Length-precision*1000); typ != nil {
			return typ, nil
		}
		return bad("has no such precision and scale")
	}
	return nestedType(t, word, depth, bad)
}

// typeWithParts reads the words of the LanceDB vocabulary that have parts.
func typeWithParts(name, rest string) arrow.DataType {
	unit, hasUnit := timeUnits[rest]
	switch name {
	case "timestamp":
		text, zone, _ := strings.Cut(rest, ":")
		unit, ok := timeUnits[text]
		if !ok {
			return nil
		}
		if zone == "-" {
			zone = ""
		}
		return &arrow.TimestampType{Unit: unit, TimeZone: zone}
	case "duration":
		if hasUnit {
			return &arrow.DurationType{Unit: unit}
		}
	case "time32":
		if hasUnit && unit <= arrow.Millisecond {
			return &arrow.Time32Type{Unit: unit}
		}
	case "time64":
		if hasUnit && unit >= arrow.Microsecond {
			return &arrow.Time64Type{Unit: unit}
		}
	case "decimal":
		parts := strings.Split(rest, ":")
		if len(parts) != 3 {
			return nil
		}
		precision, err := strconv.ParseInt(parts[1], 10, 32)
		scale, err2 := strconv.ParseInt(parts[2], 10, 32)
		if err == nil && err2 == nil {
			return decimalType(parts[0], precision, scale)
		}
	case "dict": // plain values, index type, and whether they are ordered, which native Lance ignores
		parts := strings.Split(rest, ":")
		if len(parts) != 3 {
			return nil
		}
		values, index := plainTypes[parts[0]], plainTypes[parts[1]]
		if _, err := strconv.ParseBool(parts[2]); err == nil && values != nil && index != nil && arrow.IsInteger(index.ID()) {
			return &arrow.DictionaryType{IndexType: index, ValueType: values}
		}
	case "fixed_size_binary":
		if width, err := strconv.ParseInt(rest, 10, 31); err == nil && width > 0 {
			return &arrow.FixedSizeBinaryType{ByteWidth: int(width)}
		}
	}
	return nil
}

// decimalType returns nil if the precision or the scale is invalid.
func decimalType(bits string, precision, scale int64) arrow.DataType {
	if precision < 1 || scale < -precision || scale > precision {
		return nil
	}
	switch {
	case bits == "128" && precision <= 38:
		return &arrow.Decimal128Type{Precision: int32(precision), Scale: int32(scale)}
	case bits == "256" && precision <= 76:
		return &arrow.Decimal256Type{Precision: int32(precision), Scale: int32(scale)}
	}
	return nil
}

// nestedType reads the types that have children.
func nestedType(t JSONType, word string, depth int, bad func(string) (arrow.DataType, error)) (arrow.DataType, error) {
	fields := make([]arrow.Field, len(t.Fields))
	for i, f := range t.Fields {
		typ, err := decodeType(f.Type, depth+1)
		if err != nil {
			return nil, err
		}
		fields[i] = arrow.Field{Name: f.Name, Type: typ, Nullable: f.Nullable, Metadata: arrow.MetadataFrom(f.Metadata)}
	}
	if word == "struct" {
		return arrow.StructOf(fields...), nil
	}
	if word != "list" && word != "large_list" && word != "fixed_size_list" {
		return bad("is not known")
	}
	if len(fields) != 1 {
		return bad("needs exactly one child in fields")
	}
	switch {
	case word == "list":
		return arrow.ListOfField(fields[0]), nil
	case word == "large_list":
		return arrow.LargeListOfField(fields[0]), nil
	case t.Length == nil || *t.Length < 1 || *t.Length > 1<<20:
		return bad("needs a length")
	}
	return arrow.FixedSizeListOfField(int32(*t.Length), fields[0]), nil
}

// Matches reports whether the JSON of a type can denote a type. Some words omit a part of the type, such as the unit of a
// time; they match all types that are written in this way.
func (t JSONType) Matches(typ arrow.DataType) bool {
	if decoded, err := decodeType(t, 0); err == nil && SameFunctionType(decoded, typ) {
		return true
	}
	written, err := encodeType(DialectNamespace, "", typ, 0)
	return err == nil && sameJSONType(t, written)
}

// sameJSONType compares types in JSON. The names and the nullability of the items of lists do not count.
func sameJSONType(a, b JSONType) bool {
	if a.Type != b.Type || len(a.Fields) != len(b.Fields) || (a.Length == nil) != (b.Length == nil) || a.Length != nil && *a.Length != *b.Length {
		return false
	}
	for i := range a.Fields {
		x, y := a.Fields[i], b.Fields[i]
		if a.Type == "struct" && (x.Name != y.Name || x.Nullable != y.Nullable) || !sameJSONType(x.Type, y.Type) {
			return false
		}
	}
	return true
}

// A TypeName is a data type as clients write it: a JSON object or a string, in either
// vocabulary. Type is nil when there is none.
type TypeName struct{ Type arrow.DataType }

// MarshalJSON writes the word of the public specification, or the word of LanceDB clients if the
// former would omit a unit or a time zone.
func (n TypeName) MarshalJSON() ([]byte, error) {
	if n.Type == nil {
		return []byte("null"), nil
	}
	for _, dialect := range []Dialect{DialectNamespace, DialectLanceDB} {
		written, err := encodeType(dialect, "", n.Type, 0)
		if err != nil {
			continue
		}
		if read, err := decodeType(written, 0); err == nil && arrow.TypeEqual(read, n.Type) {
			return json.Marshal(written)
		}
	}
	return nil, Errorf(Unsupported, "data type %s has no JSON form", n.Type)
}

// UnmarshalJSON reads the type.
func (n *TypeName) UnmarshalJSON(body []byte) error {
	if string(body) == "null" {
		return nil
	}
	var written JSONType
	if len(body) > 0 && body[0] == '"' {
		if err := json.Unmarshal(body, &written.Type); err != nil {
			return err
		}
	} else if err := json.Unmarshal(body, &written); err != nil {
		return err
	}
	var err error
	n.Type, err = decodeType(written, 0)
	return err
}
