package computed

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// retyped returns values with another type, which may differ in the names and the nullability of
// list items only. It copies nothing.
func retyped(values arrow.Array, typ arrow.DataType) arrow.Array {
	if arrow.TypeEqual(values.DataType(), typ) {
		return values
	}
	return array.MakeFromData(retypedData(values.Data(), typ))
}

// retypedData returns data with another type, and changes its children in the same way.
func retypedData(d arrow.ArrayData, typ arrow.DataType) arrow.ArrayData {
	var fields []arrow.Field
	switch typ := typ.(type) {
	case *arrow.StructType:
		fields = typ.Fields()
	case arrow.ListLikeType:
		fields = []arrow.Field{typ.ElemField()}
	default:
		return d
	}
	children := make([]arrow.ArrayData, len(fields))
	for i, f := range fields {
		children[i] = retypedData(d.Children()[i], f.Type)
	}
	return array.NewData(typ, d.Len(), d.Buffers(), children, d.NullN(), d.Offset())
}

// dataOf returns the data of columns with the types of struct members.
func dataOf(columns []arrow.Array, members []arrow.Field) []arrow.ArrayData {
	all := make([]arrow.ArrayData, len(columns))
	for i, c := range columns {
		all[i] = retypedData(c.Data(), members[i].Type)
	}
	return all
}
