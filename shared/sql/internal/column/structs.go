package column

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/meter"
)

// StructOf returns structs of the given members. Constants are repeated.
func StructOf(m *meter.Meter, typ arrow.DataType, members []Vec, size int, konst bool) (Vec, error) {
	columns := make([]arrow.Array, len(members))
	for i, member := range members {
		var err error
		if columns[i], err = member.Array(m, size); err != nil {
			return Vec{}, err
		}
	}
	made, err := array.NewStructArrayWithFields(columns, typ.(*arrow.StructType).Fields())
	if err != nil {
		return Vec{}, err
	}
	return Vec{Type: typ, N: size, Const: konst, Data: made}, nil
}

// gatherStruct copies the members of structs one by one.
func gatherStruct(m *meter.Meter, out Vec, from *array.Struct, slots []int) (Vec, error) {
	members := make([]Vec, from.NumField())
	for i := range members {
		member, err := Load(m, from.Field(i))
		if err != nil {
			return Vec{}, err
		}
		if is := from.Field(i).DataType(); !SameType(member.Type, is) {
			return Vec{}, sql.Errorf(sql.ErrUnsupported, sql.NoPos, "copies of structs with members of %s", is)
		}
		if err := m.Take(8 * len(slots)); err != nil {
			return Vec{}, err
		}
		has := NewBitset(len(slots))
		picked := make([]int, len(slots))
		for k, s := range slots {
			picked[k] = -1
			if s >= 0 && !member.IsNull(s) {
				picked[k] = s
				has.Set(k)
			}
		}
		if members[i], err = member.Gather(m, picked, has); err != nil {
			return Vec{}, err
		}
	}
	made, err := StructOf(m, out.Type, members, len(slots), false)
	if err != nil {
		return Vec{}, err
	}
	out.Data = withValidity(made.Data.(*array.Struct), out.Valid)
	return out, nil
}

// withValidity returns the structs with another validity bitmap.
func withValidity(s *array.Struct, valid Bitset) *array.Struct {
	if valid == nil {
		return s
	}
	bitmap, nulls := validity(valid, s.Len())
	d := s.Data()
	return array.NewStructData(array.NewData(s.DataType(), s.Len(), []*memory.Buffer{bitmap}, d.Children(), nulls, d.Offset()))
}
