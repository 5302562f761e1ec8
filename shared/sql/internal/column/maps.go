package column

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/meter"
)

// Member returns a member of the elements, which are structs. The members of the entries of maps are
// the key, 0, and the value, 1.
func (l Lists) Member(m *meter.Meter, i int) (Vec, error) {
	return Load(m, l.Elems.Data.(*array.Struct).Field(i))
}

// Entries returns maps with the given keys and values: map i has the entries off[i] to off[i+1]. A NULL key
// is sql.ErrValue.
func Entries(m *meter.Meter, typ arrow.DataType, off []int64, keys, values Vec) (Lists, error) {
	n := int(off[len(off)-1])
	if keys.Valid != nil && keys.Valid.Count() < n {
		return Lists{}, sql.Errorf(sql.ErrValue, sql.NoPos, "a key of a map is NULL")
	}
	keys.Valid = nil
	elems, err := StructOf(m, ElemType(typ), []Vec{keys, values}, n, false)
	return Lists{Off: off, Elems: elems}, err
}
