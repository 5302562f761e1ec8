package take

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Nulls returns n nulls of a type. It exists because Arrow's builders do not support all dictionary types.
func Nulls(t arrow.DataType, n int) arrow.Array {
	return array.MakeFromData(nulls(t, n))
}

// nulls builds the buffers and children that the layout of t requires for n null slots.
func nulls(t arrow.DataType, n int) *array.Data {
	made := func(children []arrow.ArrayData, buffers ...*memory.Buffer) *array.Data {
		valid := zeros(int(bitutil.BytesForBits(int64(n))))
		return array.NewData(t, n, append([]*memory.Buffer{valid}, buffers...), children, n, 0)
	}
	switch t := t.(type) {
	case *arrow.NullType:
		return array.NewData(t, n, []*memory.Buffer{nil}, nil, n, 0)
	case *arrow.DictionaryType:
		out := made(nil, zeros(n*t.BitWidth()/8))
		out.SetDictionary(nulls(t.ValueType, 0))
		return out
	case arrow.ExtensionType:
		out := nulls(t.StorageType(), n)
		return array.NewData(t, n, out.Buffers(), out.Children(), out.NullN(), 0)
	case *arrow.StructType:
		children := make([]arrow.ArrayData, t.NumFields())
		for i, f := range t.Fields() {
			children[i] = nulls(f.Type, n)
		}
		return made(children)
	case *arrow.FixedSizeListType:
		return made([]arrow.ArrayData{nulls(t.Elem(), n*int(t.Len()))})
	case *arrow.ListType, *arrow.MapType:
		return made([]arrow.ArrayData{nulls(t.(arrow.ListLikeType).Elem(), 0)}, zeros(4*(n+1)))
	case *arrow.LargeListType:
		return made([]arrow.ArrayData{nulls(t.Elem(), 0)}, zeros(8*(n+1)))
	case *arrow.StringType, *arrow.BinaryType:
		return made(nil, zeros(4*(n+1)), zeros(0))
	case *arrow.LargeStringType, *arrow.LargeBinaryType:
		return made(nil, zeros(8*(n+1)), zeros(0))
	case arrow.FixedWidthDataType:
		return made(nil, zeros(int(bitutil.BytesForBits(int64(n)*int64(t.BitWidth())))))
	default:
		return array.MakeArrayOfNull(memory.DefaultAllocator, t, n).Data().(*array.Data)
	}
}

func zeros(n int) *memory.Buffer { return memory.NewBufferBytes(make([]byte, n)) }
