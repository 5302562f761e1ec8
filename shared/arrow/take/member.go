package take

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Member returns a member of structs, null where the struct is.
func Member(s *array.Struct, at int) arrow.Array {
	column := s.Field(at)
	if s.NullN() == 0 || column.DataType().ID() == arrow.NULL {
		return column
	}
	d := column.Data()
	valid := make([]byte, bitutil.BytesForBits(int64(d.Offset()+d.Len())))
	nulls := 0
	for i := range column.Len() {
		if s.IsValid(i) && column.IsValid(i) {
			bitutil.SetBit(valid, d.Offset()+i)
		} else {
			nulls++
		}
	}
	buffers := slices.Clone(d.Buffers())
	buffers[0] = memory.NewBufferBytes(valid)
	data := array.NewData(d.DataType(), d.Len(), buffers, d.Children(), nulls, d.Offset())
	if dictionary := d.Dictionary(); dictionary != nil {
		data.SetDictionary(dictionary)
	}
	return array.MakeFromData(data)
}
