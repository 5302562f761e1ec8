package sqlexpr

import (
	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/meter"
)

// listConstant makes a constant list of constants of one type.
func listConstant(elem arrow.DataType, elems []vec) vec {
	valid := fullBitset(len(elems))
	b := newBranches(nil, len(elems), elem)
	for i, e := range elems {
		row := newBitset(len(elems))
		row.set(i)
		b.add(row, e)
		if e.isNull(0) {
			valid.clear(i)
		}
	}
	values, _ := b.vec() // of literals of the text
	values.valid = valid
	return constant(arrow.ListOf(elem), lists{off: []int64{0, int64(len(elems))}, elems: values})
}

// branches puts a column together from pieces of others.
type branches struct {
	m    *meter.Meter
	n    int
	typ  arrow.DataType
	rows []bitset
	vals []vec
}

// newBranches is n rows of a type, of no branch yet.
func newBranches(m *meter.Meter, n int, typ arrow.DataType) *branches {
	return &branches{m: m, n: n, typ: typ}
}

// add takes the values of v for the rows, which are in no other branch.
func (b *branches) add(rows bitset, v vec) {
	b.rows = append(b.rows, rows)
	b.vals = append(b.vals, v)
}

// vec returns the column. Rows of no branch are NULL.
func (b *branches) vec() (vec, error) {
	slotBits, _ := slotBits(b.typ)
	if err := b.m.Take(b.n * (8 + slotBits/8)); err != nil {
		return vec{}, err
	}
	out := vec{typ: b.typ, n: b.n, valid: newBitset(b.n)}
	source := make([]int, b.n) // branch of each row, counted from 1
	for i, rows := range b.rows {
		rows.each(b.n, func(row int) bool {
			source[row] = i + 1
			if !b.vals[i].isNull(row) {
				out.valid.set(row)
			}
			return true
		})
	}
	if isString(b.typ) || isBinary(b.typ) {
		var err error
		out.data, err = b.text(source, out.valid)
		return out, err
	}
	if isList(b.typ) {
		var err error
		out.data, err = b.lists(source, out.valid)
		return out, err
	}
	out.data = zeroData(b.typ, b.n)
	for i, rows := range b.rows {
		copyRows(out.data, b.vals[i], rows, b.n)
	}
	return out, nil
}

// text appends the pieces in the order of rows, as texts of no fixed width cannot be put in
// place.
func (b *branches) text(source []int, valid bitset) (text, error) {
	t := newTextBuilder(b.m, b.n)
	for row, s := range source {
		if s > 0 && valid.has(row) {
			v := b.vals[s-1]
			value := v.data.(text).at(v.at(row))
			if err := t.reserve(len(value)); err != nil {
				return text{}, err
			}
			t.data = append(t.data, value...)
			if err := b.m.Step(len(value)); err != nil {
				return text{}, err
			}
		}
		t.done()
	}
	return t.text(), nil
}

// lists picks the lists in the order of rows.
func (b *branches) lists(source []int, valid bitset) (lists, error) {
	elems := make([]vec, len(b.vals))
	for i, v := range b.vals {
		elems[i] = v.data.(lists).elems
	}
	made := newListBuilder(b.m, b.n, elems...)
	for row, s := range source {
		if s > 0 && valid.has(row) {
			_, span := b.vals[s-1].listsOf()
			for from, to := span(row); from < to; from++ {
				made.add(s-1, from)
			}
		}
		if err := made.end(); err != nil {
			return lists{}, err
		}
	}
	if len(elems) == 0 {
		return lists{off: made.off, elems: vec{typ: elemType(b.typ), data: emptyData(elemType(b.typ))}}, nil
	}
	return made.lists(elemType(b.typ))
}
