package command

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

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
		object, _, err := r.next()
		if err != nil {
			return err
		}
		return b.UnmarshalJSON(object)
	}
	if sparse {
		first, fields, err := r.next()
		if err != nil && !errors.Is(err, io.EOF) {
			return client.Source{}, fmt.Errorf("%s: %w", r.place(), err)
		}
		if err == nil {
			schema = fieldsOf(schema, fields)
		}
		read = func(b *array.RecordBuilder) error {
			object := first
			if first = nil; object == nil {
				var fields map[string]json.RawMessage
				var err error
				if object, fields, err = r.next(); err != nil {
					return err
				}
				if err := sameFields(schema, fields); err != nil {
					return err
				}
			}
			return b.UnmarshalJSON(object)
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

// next returns the next object and its fields, or io.EOF at the end.
func (r *jsonRows) next() (json.RawMessage, map[string]json.RawMessage, error) {
	r.row++
	if r.array && !r.decoder.More() {
		return nil, nil, r.end()
	}
	var object json.RawMessage
	if err := r.decoder.Decode(&object); err != nil {
		return nil, nil, err
	}
	fields, err := rowjson.Fields(object, r.schema)
	return object, fields, err
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
