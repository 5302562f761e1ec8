package rowfile

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/rowjson"
	"tiltyard/shared/client"
)

// jsonRows reads JSON objects, either in sequence or in one array.
type jsonRows struct {
	decoder *json.Decoder
	schema  *arrow.Schema
	array   bool // the objects are in an array
	row     int  // number of objects read
}

// openJSON returns a source of objects whose fields are columns of the schema.
//
// A missing field is null, unless sparse is true. In that case the source has only the columns of the first object, and
// all other objects must have the same fields: a merge sets the columns of its source, so that a null for a missing field
// would overwrite a value.
func openJSON(in io.Reader, schema *arrow.Schema, sparse bool) (client.Source, error) {
	buffered := bufio.NewReaderSize(in, 1<<20)
	r := &jsonRows{decoder: json.NewDecoder(buffered), schema: schema}
	if first, err := firstByte(buffered); err == nil && first == '[' {
		r.array = true
		_, _ = r.decoder.Token() // the opening bracket
	}
	read := func(b *array.RecordBuilder) error {
		fields, err := r.next()
		if err != nil {
			return err
		}
		return appendObject(b, fields)
	}
	if sparse {
		first, err := r.next()
		if err != nil && !errors.Is(err, io.EOF) {
			return client.Source{}, fmt.Errorf("%s: %w", r.place(), err)
		}
		if err == nil {
			schema = fieldsOf(schema, first)
		}
		read = func(b *array.RecordBuilder) error {
			fields := first
			if first = nil; fields == nil {
				var err error
				if fields, err = r.next(); err != nil {
					return err
				}
				if err := sameFields(schema, fields); err != nil {
					return err
				}
			}
			return appendObject(b, fields)
		}
	}
	return textSource(schema, read, r.place), nil
}

// firstByte returns the first byte that is not white space, without consuming it.
func firstByte(in *bufio.Reader) (byte, error) {
	for {
		b, err := in.ReadByte()
		if err != nil {
			return 0, err
		}
		if b != ' ' && b != '\t' && b != '\n' && b != '\r' {
			return b, in.UnreadByte()
		}
	}
}

// next returns the fields of the next object, or io.EOF at the end.
func (r *jsonRows) next() (map[string]json.RawMessage, error) {
	r.row++
	if r.array && !r.decoder.More() {
		return nil, r.end()
	}
	var object json.RawMessage
	if err := r.decoder.Decode(&object); err != nil {
		return nil, err
	}
	return rowjson.Fields(object, r.schema)
}

// appendObject adds a row of the fields of an object. A column that it lacks is null.
func appendObject(b *array.RecordBuilder, object map[string]json.RawMessage) error {
	row := []byte{'{'}
	for i, field := range b.Schema().Fields() {
		if i > 0 {
			row = append(row, ',')
		}
		row = append(append(row, asText(field.Name)...), ':')
		row = append(row, valueOf(object, field)...)
	}
	if err := b.UnmarshalJSON(append(row, '}')); err != nil {
		return cmp.Or(firstUnfit(b, object), err)
	}
	for i, field := range b.Schema().Fields() {
		if !hasWholeLists(b.Field(i)) {
			return &ValueError{field.Name, string(object[field.Name]), field.Type}
		}
	}
	return nil
}

// firstUnfit returns a ValueError of the first column whose value in an object is not of its type, or nil.
func firstUnfit(b *array.RecordBuilder, object map[string]json.RawMessage) error {
	for _, field := range b.Schema().Fields() {
		column := array.NewBuilder(memory.DefaultAllocator, field.Type)
		err := column.UnmarshalJSON(slices.Concat([]byte{'['}, valueOf(object, field), []byte{']'}))
		column.Release()
		if err != nil {
			return &ValueError{field.Name, string(object[field.Name]), field.Type}
		}
	}
	return nil
}

// valueOf returns the value of a field in an object, as fit does, or null if the object lacks it.
func valueOf(object map[string]json.RawMessage, field arrow.Field) json.RawMessage {
	raw, ok := object[field.Name]
	if !ok {
		return json.RawMessage("null")
	}
	return fit(raw, field.Type)
}

// fit returns a value in the form that Arrow reads as a type. A text column takes other values as their JSON, a list may be
// a text of JSON, and a time without a zone is in UTC if its column is. An object with fields that a struct lacks becomes a
// text, which Arrow refuses; it would ignore the fields.
func fit(raw json.RawMessage, typ arrow.DataType) json.RawMessage {
	switch typ := typ.(type) {
	case *arrow.StringType, *arrow.LargeStringType:
		if raw[0] != '"' && !isNull(raw) {
			return asText(string(raw))
		}
	case *arrow.TimestampType:
		if text, ok := unquoted(raw); ok {
			return asText(zoned(text, typ))
		}
	case *arrow.FixedSizeListType, *arrow.ListType:
		if text, ok := unquoted(raw); ok && json.Valid([]byte(text)) {
			return json.RawMessage(text)
		}
	case *arrow.StructType:
		return fitObject(raw, typ)
	}
	return raw
}

// fitObject is [fit] for a struct.
func fitObject(raw json.RawMessage, typ *arrow.StructType) json.RawMessage {
	var fields map[string]json.RawMessage
	if isNull(raw) || json.Unmarshal(raw, &fields) != nil {
		return raw
	}
	for name, value := range fields {
		field, ok := typ.FieldByName(name)
		if !ok {
			return asText("it has the field " + name)
		}
		fields[name] = fit(value, field.Type)
	}
	whole, err := json.Marshal(fields)
	if err != nil {
		return raw
	}
	return whole
}

func isNull(raw json.RawMessage) bool { return string(raw) == "null" }

// asText returns a text as a JSON string.
func asText(text string) json.RawMessage {
	raw, _ := json.Marshal(text) // cannot fail for a string
	return raw
}

// unquoted returns the text of a JSON string.
func unquoted(raw json.RawMessage) (text string, ok bool) {
	if raw[0] != '"' {
		return "", false
	}
	ok = json.Unmarshal(raw, &text) == nil
	return text, ok
}

// end reads the end of the array. It returns io.EOF if nothing follows.
func (r *jsonRows) end() error {
	if _, err := r.decoder.Token(); err != nil {
		if errors.Is(err, io.EOF) {
			return errors.New("the array has no end")
		}
		return err
	}
	r.array = false
	if r.decoder.More() {
		return errors.New("something follows the array")
	}
	return io.EOF
}

func (r *jsonRows) place() string { return fmt.Sprintf("row %d", r.row) }

// fieldsOf returns the columns that are fields of an object.
func fieldsOf(schema *arrow.Schema, object map[string]json.RawMessage) *arrow.Schema {
	var fields []arrow.Field
	for _, field := range schema.Fields() {
		if _, has := object[field.Name]; has {
			fields = append(fields, field)
		}
	}
	return arrow.NewSchema(fields, nil)
}

// sameFields checks that an object has the same fields as the first one, which are the columns of
// the schema.
func sameFields(schema *arrow.Schema, object map[string]json.RawMessage) error {
	const way = "rows that are merged must have the same fields; merge the others by a command of their own, or write null to clear a value"
	for _, field := range schema.Fields() {
		if _, has := object[field.Name]; !has {
			return fmt.Errorf("it lacks %q, which row 1 has; %s", field.Name, way)
		}
	}
	for name := range object {
		if !schema.HasField(name) {
			return fmt.Errorf("it has %q, which row 1 lacks; %s", name, way)
		}
	}
	return nil
}
