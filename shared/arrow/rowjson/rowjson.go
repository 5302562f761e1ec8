// Package rowjson writes rows as JSON objects, one per line, and checks those that come in:
//
//	{"id":1,"vector":[0.5,"NaN"],"picture":"iVBORw0KGgo="}
//
// Bytes are base64. NaN and infinite numbers are the texts NaN, +Inf and -Inf.
package rowjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"
)

// Write writes the rows of a batch. Each line is one call of w.Write.
func Write(w io.Writer, batch arrow.RecordBatch) error {
	columns, fields := make([]arrow.Array, batch.NumCols()), batch.Schema().Fields()
	for i, column := range batch.Columns() {
		data := widened(column.Data())
		columns[i], fields[i].Type = array.MakeFromData(data), data.DataType()
	}
	return array.RecordToJSON(array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, batch.NumRows()), w)
}

// widened returns the data with float32 in place of float16 at any depth, because the Arrow library fails at a
// float16 that is not finite. Other data is returned as it is.
func widened(data arrow.ArrayData) arrow.ArrayData {
	t := data.DataType()
	if t.ID() == arrow.FLOAT16 {
		halves := arrow.Float16Traits.CastFromBytes(data.Buffers()[1].Bytes())[:data.Offset()+data.Len()]
		floats := make([]float32, len(halves))
		for i, half := range halves {
			floats[i] = half.Float32()
		}
		buffers := []*arrowmemory.Buffer{data.Buffers()[0], arrowmemory.NewBufferBytes(arrow.Float32Traits.CastToBytes(floats))}
		return array.NewData(arrow.PrimitiveTypes.Float32, data.Len(), buffers, nil, data.NullN(), data.Offset())
	}
	nested, ok := t.(arrow.NestedType)
	if !ok || len(nested.Fields()) != len(data.Children()) {
		return data
	}
	fields, children, changed := slices.Clone(nested.Fields()), make([]arrow.ArrayData, len(data.Children())), false
	for i, child := range data.Children() {
		children[i] = widened(child)
		fields[i].Type = children[i].DataType()
		changed = changed || children[i] != child
	}
	if !changed {
		return data
	}
	switch t := t.(type) {
	case *arrow.ListType:
		return array.NewData(arrow.ListOfField(fields[0]), data.Len(), data.Buffers(), children, data.NullN(), data.Offset())
	case *arrow.LargeListType:
		return array.NewData(arrow.LargeListOfField(fields[0]), data.Len(), data.Buffers(), children, data.NullN(), data.Offset())
	case *arrow.FixedSizeListType:
		return array.NewData(arrow.FixedSizeListOfField(t.Len(), fields[0]), data.Len(), data.Buffers(), children, data.NullN(), data.Offset())
	case *arrow.StructType:
		return array.NewData(arrow.StructOf(fields...), data.Len(), data.Buffers(), children, data.NullN(), data.Offset())
	}
	return data
}

// Fields returns the fields of a row, a JSON object. Each must be a column of the schema; there may be fewer.
func Fields(row []byte, schema *arrow.Schema) (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(row, &fields); err != nil || fields == nil {
		return nil, errors.New("it is no JSON object")
	}
	for name := range fields {
		if !schema.HasField(name) {
			return nil, &UnknownColumnError{name}
		}
	}
	return fields, nil
}

// An UnknownColumnError is about a field of a row that is no column.
type UnknownColumnError struct{ Column string }

// Error names the column.
func (e *UnknownColumnError) Error() string {
	return fmt.Sprintf("the table has no column %q", e.Column)
}
