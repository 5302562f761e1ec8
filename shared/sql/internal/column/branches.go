package column

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/meter"
)

// ListConstant returns a constant list of constants, all of one type.
func ListConstant(elem arrow.DataType, elems []Vec) Vec {
	valid := FullBitset(len(elems))
	b := NewBranches(nil, len(elems), elem)
	for i, e := range elems {
		row := NewBitset(len(elems))
		row.Set(i)
		b.Add(row, e)
		if e.IsNull(0) {
			valid.Clear(i)
		}
	}
	values, _ := b.Vec() // of literals of the text
	values.Valid = valid
	return Constant(arrow.ListOf(elem), Lists{Off: []int64{0, int64(len(elems))}, Elems: values})
}

// Branches assembles a column from rows of several columns, such as the branches of a CASE.
type Branches struct {
	m    *meter.Meter
	n    int
	typ  arrow.DataType
	rows []Bitset
	vals []Vec
}

// NewBranches returns n rows of a type, without any branch.
func NewBranches(m *meter.Meter, n int, typ arrow.DataType) *Branches {
	return &Branches{m: m, n: n, typ: typ}
}

// Add sets the given rows to their values in v. The rows of all branches must be disjoint.
func (b *Branches) Add(rows Bitset, v Vec) {
	b.rows = append(b.rows, rows)
	b.vals = append(b.vals, v)
}

// Vec returns the column. Rows without a branch are NULL.
func (b *Branches) Vec() (Vec, error) {
	slotBits, _ := SlotBits(b.typ)
	if err := b.m.Take(b.n * (8 + slotBits/8)); err != nil {
		return Vec{}, err
	}
	has := NewBitset(b.n)
	out := Vec{Type: b.typ, N: b.n, Valid: has}
	source := make([]int, b.n) // branch of each row, counted from 1
	for i, rows := range b.rows {
		valid, mask := b.vals[i].Valid, b.vals[i].Mask()
		rows.Each(b.n, func(row int) bool {
			source[row] = i + 1
			if valid == nil || valid.Has(row&mask) {
				has.Set(row)
			}
			return true
		})
	}
	if IsString(b.typ) || IsBinary(b.typ) {
		var err error
		out.Data, err = b.text(source, out.Valid)
		return out, err
	}
	if IsList(b.typ) || IsMap(b.typ) {
		var err error
		out.Data, err = b.lists(source, out.Valid)
		return out, err
	}
	if typ, ok := b.typ.(*arrow.StructType); ok {
		var err error
		out.Data, err = b.structs(typ, out.Valid)
		return out, err
	}
	out.Data = Zeros(b.typ, b.n)
	for i, rows := range b.rows {
		copyRows(out.Data, b.vals[i], rows, b.n)
	}
	return out, nil
}

// text appends the texts in the order of the rows, because texts of variable width cannot
// be stored in place.
func (b *Branches) text(source []int, valid Bitset) (Text, error) {
	t := NewTextBuilder(b.m, b.n)
	for row, s := range source {
		if s > 0 && valid.Has(row) {
			v := b.vals[s-1]
			value := v.Data.(Text).At(v.Slot(row))
			if err := t.Reserve(len(value)); err != nil {
				return Text{}, err
			}
			t.Data = append(t.Data, value...)
			if err := b.m.Step(len(value)); err != nil {
				return Text{}, err
			}
		}
		t.Done()
	}
	return t.Text(), nil
}

// lists takes the lists in the order of the rows.
func (b *Branches) lists(source []int, valid Bitset) (Lists, error) {
	elems := make([]Vec, len(b.vals))
	for i, v := range b.vals {
		elems[i] = v.Data.(Lists).Elems
	}
	made := NewListBuilder(b.m, b.n, elems...)
	for row, s := range source {
		if s > 0 && valid.Has(row) {
			_, span := b.vals[s-1].ListsOf()
			for from, to := span(row); from < to; from++ {
				made.Add(s-1, from)
			}
		}
		if err := made.End(); err != nil {
			return Lists{}, err
		}
	}
	if len(elems) == 0 {
		return NoLists(b.typ, b.n), nil
	}
	return made.Lists(ElemType(b.typ))
}

// structs assembles the members one by one.
func (b *Branches) structs(typ *arrow.StructType, valid Bitset) (*array.Struct, error) {
	members := make([]Vec, typ.NumFields())
	for i, field := range typ.Fields() {
		pieces := NewBranches(b.m, b.n, field.Type)
		for k, v := range b.vals {
			member, err := Load(b.m, v.Data.(*array.Struct).Field(i))
			if err != nil {
				return nil, err
			}
			if !SameType(member.Type, field.Type) {
				return nil, sql.Errorf(sql.ErrUnsupported, sql.NoPos, "choice between structs with members of %s", field.Type)
			}
			member.Const = v.Const
			pieces.Add(b.rows[k], member)
		}
		var err error
		if members[i], err = pieces.Vec(); err != nil {
			return nil, err
		}
	}
	made, err := StructOf(b.m, typ, members, b.n, false)
	if err != nil {
		return nil, err
	}
	return withValidity(made.Data.(*array.Struct), valid), nil
}

// copyRows copies the values of rows from v to data of the same type. It does not handle
// texts and lists; Branches does.
func copyRows(data any, v Vec, rows Bitset, n int) {
	switch d := data.(type) {
	case Bitset:
		src := v.Data.(Bitset)
		rows.Each(n, func(i int) bool {
			if src.Has(v.Slot(i)) {
				d.Set(i)
			}
			return true
		})
	case []int8:
		copyValues(d, v, rows)
	case []int16:
		copyValues(d, v, rows)
	case []int32:
		copyValues(d, v, rows)
	case []int64:
		copyValues(d, v, rows)
	case []uint8:
		copyValues(d, v, rows)
	case []uint16:
		copyValues(d, v, rows)
	case []uint32:
		copyValues(d, v, rows)
	case []uint64:
		copyValues(d, v, rows)
	case []Half:
		copyValues(d, v, rows)
	case []float32:
		copyValues(d, v, rows)
	case []float64:
		copyValues(d, v, rows)
	case []decimal128.Num:
		copyValues(d, v, rows)
	case []decimal256.Num:
		copyValues(d, v, rows)
	}
}

func copyValues[T any](dst []T, v Vec, rows Bitset) {
	src, mask := v.Data.([]T), v.Mask()
	rows.Each(len(dst), func(i int) bool {
		dst[i] = src[i&mask]
		return true
	})
}
