package schema

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/jsonb"
)

// JSON is stored in binary form (JSONB), as large binary with the extension lance.json.
// Clients send and receive it as text: as strings with the extension arrow.json.

// TextField returns a field in the form that clients see: JSON, at any depth, is text.
func TextField(f arrow.Field) arrow.Field {
	if isStoredJSON(f) {
		metadata := f.Metadata.ToMap()
		metadata[extensionName] = arrowJSON
		f.Type, f.Metadata = arrow.BinaryTypes.String, arrowMetadata(metadata)
		return f
	}
	if hasStoredJSON(f) {
		fields := slices.Clone(f.Type.(arrow.NestedType).Fields())
		for i := range fields {
			fields[i] = TextField(fields[i])
		}
		f.Type = withFields(f.Type, fields)
	}
	return f
}

// TextSchema returns a schema with [TextField] applied to each field.
func TextSchema(s *arrow.Schema) *arrow.Schema {
	fields := s.Fields()
	for i := range fields {
		fields[i] = TextField(fields[i])
	}
	metadata := s.Metadata()
	return arrow.NewSchema(fields, &metadata)
}

// TextArray converts the values of a field to the form of [TextField]. It returns the same
// array if nothing in it is JSON. It fails on more than 2 GiB of text, and on values that
// JSON text cannot express, such as dates.
func TextArray(f arrow.Field, a arrow.Array) (arrow.Array, error) {
	if !hasStoredJSON(f) {
		return a, nil
	}
	data, err := textData(f, a.Data())
	if err != nil {
		return nil, err
	}
	return array.MakeFromData(data), nil
}

// StoredJSON converts an array of JSON texts to the stored form. A text that is not JSON is
// [jsonb.ErrSyntax], with its row.
func StoredJSON(texts arrow.Array) (arrow.Array, error) {
	data, err := storedJSON(texts.Data())
	if err != nil {
		return nil, err
	}
	return array.MakeFromData(data), nil
}

func isStoredJSON(f arrow.Field) bool {
	name, _ := f.Metadata.GetValue(extensionName)
	return name == jsonExtension && f.Type.ID() == arrow.LARGE_BINARY
}

func hasStoredJSON(f arrow.Field) bool {
	if nested, ok := f.Type.(arrow.NestedType); ok {
		return slices.ContainsFunc(nested.Fields(), hasStoredJSON)
	}
	return isStoredJSON(f)
}

// withFields returns a nested type with new children.
func withFields(t arrow.DataType, fields []arrow.Field) arrow.DataType {
	switch nested := t.(type) {
	case *arrow.StructType:
		return arrow.StructOf(fields...)
	case *arrow.ListType:
		return arrow.ListOfField(fields[0])
	case *arrow.LargeListType:
		return arrow.LargeListOfField(fields[0])
	case *arrow.FixedSizeListType:
		return arrow.FixedSizeListOfField(nested.Len(), fields[0])
	case *arrow.MapType:
		entries := fields[0].Type.(*arrow.StructType)
		m := arrow.MapOfFields(entries.Field(0), entries.Field(1))
		m.KeysSorted = nested.KeysSorted
		return m
	}
	return t
}

// textData converts the JSON columns in data to text, at any depth.
func textData(f arrow.Field, data arrow.ArrayData) (arrow.ArrayData, error) {
	if isStoredJSON(f) {
		stored := array.NewLargeBinaryData(data)
		return converted(stored, arrow.BinaryTypes.String, func(dst []byte, i int) ([]byte, error) {
			return appendText(dst, stored.Value(i))
		})
	}
	if !hasStoredJSON(f) {
		return data, nil
	}
	children := make([]arrow.ArrayData, len(data.Children()))
	for i, child := range f.Type.(arrow.NestedType).Fields() {
		var err error
		if children[i], err = textData(child, data.Children()[i]); err != nil {
			return nil, err
		}
	}
	return array.NewData(TextField(f).Type, data.Len(), data.Buffers(), children, data.NullN(), data.Offset()), nil
}

// appendText appends the JSON text of a value. A value that is not JSONB counts as text, as in
// native Lance, whose updates can store other bytes in JSON columns; one such value must not make
// all others inaccessible.
func appendText(dst, value []byte) ([]byte, error) {
	text, err := jsonb.AppendText(dst, value)
	if errors.Is(err, lance.ErrCorrupt) {
		return append(dst, string([]rune(string(value)))...), nil // valid UTF-8
	}
	return text, err
}

// storedJSON converts texts to the stored form. Values that already are in that form stay.
func storedJSON(data arrow.ArrayData) (arrow.ArrayData, error) {
	switch texts := array.MakeFromData(data).(type) {
	case *array.String:
		return converted(texts, arrow.BinaryTypes.LargeBinary, func(dst []byte, i int) ([]byte, error) {
			return jsonb.Append(dst, texts.Value(i))
		})
	case *array.LargeString:
		return converted(texts, arrow.BinaryTypes.LargeBinary, func(dst []byte, i int) ([]byte, error) {
			return jsonb.Append(dst, texts.Value(i))
		})
	case *array.LargeBinary:
		return data, nil
	}
	return nil, fmt.Errorf("JSON cannot be of type %s", data.DataType())
}

// converted returns an array of strings or large binaries of the rows, null where the row is null.
// appendTo appends the i-th value to dst.
func converted(rows arrow.Array, to arrow.DataType, appendTo func(dst []byte, i int) ([]byte, error)) (arrow.ArrayData, error) {
	data := rows.Data()
	var values []byte
	ends := make([]int64, data.Offset()+data.Len()+1)
	for i := range data.Len() {
		if rows.IsValid(i) {
			var err error
			if values, err = appendTo(values, i); err != nil {
				return nil, fmt.Errorf("row %d: %w", i, err)
			}
		}
		ends[data.Offset()+i+1] = int64(len(values))
	}
	offsets := arrow.Int64Traits.CastToBytes(ends)
	if to.ID() == arrow.STRING {
		if len(values) > math.MaxInt32 {
			return nil, fmt.Errorf("more than %d bytes of JSON in one batch", math.MaxInt32)
		}
		narrow := make([]int32, len(ends))
		for i, end := range ends {
			narrow[i] = int32(end)
		}
		offsets = arrow.Int32Traits.CastToBytes(narrow)
	}
	buffers := []*memory.Buffer{data.Buffers()[0], memory.NewBufferBytes(offsets), memory.NewBufferBytes(values)}
	return array.NewData(to, data.Len(), buffers, nil, data.NullN(), data.Offset()), nil
}
