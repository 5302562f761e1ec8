package sqlexpr

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/sql/meter"
)

// structVec puts members together; those that are constants are repeated.
func structVec(m *meter.Meter, typ arrow.DataType, members []vec, size int, konst bool) (vec, error) {
	columns := make([]arrow.Array, len(members))
	for i, member := range members {
		var err error
		if columns[i], err = member.array(m, size); err != nil {
			return vec{}, err
		}
	}
	made, err := array.NewStructArrayWithFields(columns, typ.(*arrow.StructType).Fields())
	if err != nil {
		return vec{}, err
	}
	return vec{typ: typ, n: size, konst: konst, data: made}, nil
}

// gatherStruct gathers the members of structs one by one.
func gatherStruct(m *meter.Meter, out vec, from *array.Struct, slots []int) (vec, error) {
	members := make([]vec, from.NumField())
	for i := range members {
		member, err := load(m, from.Field(i))
		if err != nil {
			return vec{}, err
		}
		if err := m.Take(8 * len(slots)); err != nil {
			return vec{}, err
		}
		has := newBitset(len(slots))
		picked := make([]int, len(slots))
		for k, s := range slots {
			picked[k] = -1
			if s >= 0 && !member.isNull(s) {
				picked[k] = s
				has.set(k)
			}
		}
		if members[i], err = member.gather(m, picked, has); err != nil {
			return vec{}, err
		}
	}
	made, err := structVec(m, out.typ, members, len(slots), false)
	if err != nil {
		return vec{}, err
	}
	out.data = withValidity(made.data.(*array.Struct), out.valid)
	return out, nil
}

// withValidity marks structs as NULL.
func withValidity(s *array.Struct, valid bitset) *array.Struct {
	if valid == nil {
		return s
	}
	bitmap, nulls := validity(valid, s.Len())
	d := s.Data()
	return array.NewStructData(array.NewData(s.DataType(), s.Len(), []*memory.Buffer{bitmap}, d.Children(), nulls, d.Offset()))
}
