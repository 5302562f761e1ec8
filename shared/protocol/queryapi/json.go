package queryapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"tiltyard/shared/protocol"
)

const maxInt64 = math.MaxInt64

// MarshalJSON writes the bare number that clients expect.
func (r CountRowsResponse) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, r.Count, 10), nil
}

// UnmarshalJSON reads the bare number.
func (r *CountRowsResponse) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &r.Count)
}

// Vector is what to search for: nothing, one vector or several.
//
// On the wire it is an object {"single_vector": [..]} or {"multi_vector": [[..], ..]},
// or, from LanceDB clients, an array of numbers or an array of arrays.
type Vector struct {
	Vectors [][]float64 // of the same, positive length
	// Several says that the client wrote a list of vectors, even if it held only one:
	// the answer to it has a query_index when the column holds single vectors.
	Several bool
}

// Empty reports whether there is no vector.
func (v Vector) Empty() bool { return len(v.Vectors) == 0 }

// MarshalJSON writes the object form, and null for no vector.
func (v Vector) MarshalJSON() ([]byte, error) {
	switch {
	case v.Empty():
		return []byte("null"), nil
	case v.Several || len(v.Vectors) > 1:
		return json.Marshal(map[string][][]float64{"multi_vector": v.Vectors})
	}
	return json.Marshal(map[string][]float64{"single_vector": v.Vectors[0]})
}

// UnmarshalJSON reads both forms of the wire.
func (v *Vector) UnmarshalJSON(data []byte) error {
	*v = Vector{}
	switch firstByte(data) {
	case '[':
		return v.parseArray("vector", data)
	case '{':
		return v.parseObject(data)
	case 'n': // null
		return nil
	}
	return protocol.Errorf(protocol.InvalidInput, "vector must be an array of numbers, an array of such arrays, or an object with single_vector or multi_vector")
}

// parseObject reads {"single_vector": [..]} or {"multi_vector": [[..], ..]}.
func (v *Vector) parseObject(data []byte) error {
	if only, length := ReadVector(bytes.TrimLeft(data, jsonSpace)); length > 0 {
		*v = only
		return nil
	}
	var forms struct {
		Single json.RawMessage `json:"single_vector"`
		Multi  json.RawMessage `json:"multi_vector"`
	}
	if err := json.Unmarshal(data, &forms); err != nil {
		return protocol.Errorf(protocol.InvalidInput, "vector: %w", err)
	}
	var single, multi Vector
	if given(forms.Single) {
		if err := single.parseArray("vector.single_vector", forms.Single); err != nil {
			return err
		}
		if single.Several {
			return protocol.Errorf(protocol.InvalidInput, "vector.single_vector must be an array of numbers")
		}
	}
	if given(forms.Multi) {
		if err := multi.parseArray("vector.multi_vector", forms.Multi); err != nil {
			return err
		}
		if !multi.Empty() && !multi.Several {
			return protocol.Errorf(protocol.InvalidInput, "vector.multi_vector must be an array of arrays of numbers")
		}
	}
	switch {
	case !single.Empty() && !multi.Empty():
		return protocol.Errorf(protocol.InvalidInput, "vector has both single_vector and multi_vector; give one")
	case !multi.Empty():
		*v = multi
	default:
		*v = single
	}
	return nil
}

// parseArray reads [1, 2] as one vector and [[1, 2], [3, 4]] as several; [] is none. The data is
// valid JSON. The reader stops at the maximum number of dimensions: a general decoder would need
// some hundred MiB for a body of 8 MiB.
func (v *Vector) parseArray(field string, data []byte) error {
	if firstByte(data) != '[' {
		return protocol.Errorf(protocol.InvalidInput, "%s must be an array", field)
	}
	r := numberReader{data: bytes.TrimLeft(data, jsonSpace)[1:]}
	if r.next() != '[' {
		vector, err := r.vector(field, 0)
		if err == nil && len(vector) > 0 {
			v.Vectors = [][]float64{vector}
		}
		return err
	}
	v.Several = true
	length := 0 // of the vector before: all should be alike
	for ; r.next() == '['; r.skip(',') {
		if len(v.Vectors) == MaxVectors {
			return protocol.Errorf(protocol.InvalidInput, "%s holds too many vectors; at most %d are possible", field, MaxVectors)
		}
		r.data = r.data[1:]
		vector, err := r.vector(field, length)
		if err != nil {
			return err
		}
		length = len(vector)
		v.Vectors = append(v.Vectors, vector)
	}
	if r.next() != ']' {
		return protocol.Errorf(protocol.InvalidInput, "%s must hold numbers of the same depth", field)
	}
	return nil
}

// A numberReader reads arrays of numbers in valid JSON. data is the unread part.
type numberReader struct{ data []byte }

// next returns the next byte that is not space, and leaves it.
func (r *numberReader) next() byte {
	for isSpace(r.data[0]) {
		r.data = r.data[1:]
	}
	return r.data[0]
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// skip skips the next byte if it is c.
func (r *numberReader) skip(c byte) {
	if r.next() == c {
		r.data = r.data[1:]
	}
}

// vector reads the numbers of an array, and skips the closing bracket. room is the initial capacity
// of the result.
func (r *numberReader) vector(field string, room int) ([]float64, error) {
	if numbers, length := readNumbers(r.data, room); length > 0 {
		r.data = r.data[length:]
		return numbers, nil
	}
	// The elements are read one by one to find the reason.
	vector := make([]float64, 0, room)
	for ; r.next() != ']'; r.skip(',') {
		end := 0
		for c := r.data[0]; c != ',' && c != ']' && !isSpace(c); c = r.data[end] {
			end++
		}
		number, err := strconv.ParseFloat(string(r.data[:end]), 64)
		switch {
		case err != nil && string(r.data[:end]) == "null":
			return nil, protocol.Errorf(protocol.InvalidInput, "%s holds a null", field)
		case err != nil:
			return nil, protocol.Errorf(protocol.InvalidInput, "%s must hold only numbers, or arrays of numbers of the same depth", field)
		case len(vector) == MaxVectorDimensions:
			return nil, protocol.Errorf(protocol.InvalidInput, "%s has too many dimensions; 1 to %d are possible", field, MaxVectorDimensions)
		}
		vector = append(vector, number)
		r.data = r.data[end:]
	}
	r.data = r.data[1:]
	return vector, nil
}

// check checks the number of vectors and their dimensions.
func (v Vector) check() error {
	if v.Empty() {
		return nil
	}
	if len(v.Vectors) > MaxVectors {
		return protocol.Errorf(protocol.InvalidInput, "vector holds %d vectors; at most %d are possible", len(v.Vectors), MaxVectors)
	}
	dimensions := len(v.Vectors[0])
	if dimensions == 0 || dimensions > MaxVectorDimensions {
		return protocol.Errorf(protocol.InvalidInput, "vector has %d dimensions; 1 to %d are possible", dimensions, MaxVectorDimensions)
	}
	for i, vector := range v.Vectors {
		if len(vector) != dimensions {
			return protocol.Errorf(protocol.InvalidInput, "vector %d has %d dimensions, the first has %d", i, len(vector), dimensions)
		}
	}
	return nil
}

// Projection is the columns of an answer, in order. Empty: all of the table's.
//
// On the wire it is an array of names or an object from alias to SQL expression, or the
// one or the other wrapped as {"column_names": [..]} or {"column_aliases": {..}}. LanceDB clients up to
// 0.27.1 send the aliases as an array of pairs: [["id", "id"], ["up", "upper(name)"]].
type Projection []ProjectedColumn

// ProjectedColumn is one column of an answer.
type ProjectedColumn struct {
	Name       string // of the column in the answer
	Expression string // SQL over the table's columns; empty: the column Name itself
}

// MarshalJSON writes the wrapped form: names if all columns are plain columns of the table, and
// otherwise aliases, in their order.
func (p Projection) MarshalJSON() ([]byte, error) {
	names := make([]string, len(p))
	for i, column := range p {
		if column.Expression != "" {
			return p.marshalAliases()
		}
		names[i] = column.Name
	}
	return json.Marshal(map[string][]string{"column_names": names})
}

// marshalAliases writes the aliases as an object. A map would lose their order.
func (p Projection) marshalAliases() ([]byte, error) {
	out := []byte(`{"column_aliases":{`)
	for i, column := range p {
		alias, err := json.Marshal(column.Name)
		if err != nil {
			return nil, err
		}
		expression, err := json.Marshal(cmp.Or(column.Expression, quoteColumn(column.Name)))
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, alias...), ':'), expression...)
	}
	return append(out, "}}"...), nil
}

// quoteColumn returns SQL that is the column of that name.
func quoteColumn(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// UnmarshalJSON reads all forms. Names and aliases exclude each other; an empty list or object
// counts as absent.
func (p *Projection) UnmarshalJSON(data []byte) error {
	if *p = plainProjection(data); *p != nil {
		return nil
	}
	switch firstByte(data) {
	case '[':
		if firstByte(bytes.TrimLeft(data, jsonSpace)[1:]) == '[' {
			return p.parsePairs(data)
		}
		return p.parseNames(data)
	case '{':
		var forms struct {
			Names   json.RawMessage `json:"column_names"`
			Aliases json.RawMessage `json:"column_aliases"`
		}
		if err := json.Unmarshal(data, &forms); err != nil {
			return protocol.Errorf(protocol.InvalidInput, "columns: %w", err)
		}
		if forms.Names == nil && forms.Aliases == nil {
			return p.parseAliases(data)
		}
		return p.parseForms(forms.Names, forms.Aliases)
	case 'n': // null
		return nil
	}
	return protocol.Errorf(protocol.InvalidInput, "columns must be an array of names or an object of aliases")
}

// parseForms reads names, aliases as an object, or aliases as an array of pairs.
func (p *Projection) parseForms(names, aliases json.RawMessage) error {
	if given(names) {
		if err := p.parseNames(names); err != nil {
			return err
		}
	}
	named := len(*p)
	if given(aliases) {
		if err := p.parseAliases(aliases); err != nil {
			return err
		}
	}
	if 0 < named && named < len(*p) {
		return protocol.Errorf(protocol.InvalidInput, "columns has both column_names and column_aliases; give one")
	}
	return nil
}

// parseNames reads an array of column names.
func (p *Projection) parseNames(data []byte) error {
	var names []*string
	if err := json.Unmarshal(data, &names); err != nil {
		return protocol.Errorf(protocol.InvalidInput, "columns must be an array of names")
	}
	for _, name := range names {
		if name == nil || *name == "" {
			return protocol.Errorf(protocol.InvalidInput, "columns holds an empty name")
		}
		*p = append(*p, ProjectedColumn{Name: *name})
	}
	return nil
}

// parsePairs reads aliases as an array of pairs, from old LanceDB clients.
func (p *Projection) parsePairs(data []byte) error {
	var pairs [][]string
	if err := json.Unmarshal(data, &pairs); err != nil {
		return protocol.Errorf(protocol.InvalidInput, "columns must be an array of names, or of pairs of alias and SQL expression")
	}
	for i, pair := range pairs {
		if len(pair) != 2 || pair[0] == "" || pair[1] == "" {
			return protocol.Errorf(protocol.InvalidInput, "columns[%d] is not a pair of alias and SQL expression", i)
		}
		*p = append(*p, ProjectedColumn{Name: pair[0], Expression: pair[1]})
	}
	return nil
}

// parseAliases reads aliases as an object, in the order of the text.
func (p *Projection) parseAliases(data []byte) error {
	malformed := protocol.Errorf(protocol.InvalidInput, "columns must map each alias to an SQL expression")
	dec := json.NewDecoder(bytes.NewReader(data))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return malformed
	}
	for dec.More() {
		alias, err := dec.Token()
		if err != nil {
			return malformed
		}
		expression, err := dec.Token()
		if err != nil {
			return malformed
		}
		column := ProjectedColumn{}
		var isText bool
		column.Name, _ = alias.(string)
		if column.Expression, isText = expression.(string); !isText || column.Name == "" || column.Expression == "" {
			return malformed
		}
		*p = append(*p, column)
	}
	return nil
}

const jsonSpace = " \t\r\n"

// firstByte returns the first byte of a JSON value, which determines its kind: [ { " n t f - or a
// digit.
func firstByte(data []byte) byte {
	data = bytes.TrimLeft(data, jsonSpace)
	if len(data) == 0 {
		return 0
	}
	return data[0]
}

// given reports whether a field is present and not null.
func given(data json.RawMessage) bool { return data != nil && firstByte(data) != 'n' }
