package sqlexpr

import (
	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/meter"
)

// A listBuilder makes a column of lists of elements that are picked from other columns, all
// of one type.
type listBuilder struct {
	m       *meter.Meter
	sources []vec
	from    []int32 // source of each element, -1 for NULL
	slot    []int   // and its place there
	off     []int64
	err     error // what refused an element
}

// newListBuilder makes a builder for n lists.
func newListBuilder(m *meter.Meter, n int, sources ...vec) *listBuilder {
	return &listBuilder{m: m, sources: sources, off: append(make([]int64, 0, n+1), 0)}
}

// add appends an element to the list that is being made.
func (b *listBuilder) add(source, slot int) {
	if b.sources[source].valid != nil && !b.sources[source].valid.has(slot) {
		b.addNull()
		return
	}
	b.append(int32(source), slot)
}

// addNull appends NULL to the list that is being made.
func (b *listBuilder) addNull() { b.append(-1, -1) }

func (b *listBuilder) append(source int32, slot int) {
	if len(b.slot) == cap(b.slot) {
		b.grow()
	}
	if b.err == nil {
		b.from = append(b.from, source)
		b.slot = append(b.slot, slot)
	}
}

// pickBytes is what an element takes until it is gathered.
const pickBytes = 12

// grow makes room for more elements, and takes it before.
func (b *listBuilder) grow() {
	have := cap(b.slot)
	size := max(2*have, 16)
	if b.err == nil && have > maxElements {
		b.err = b.m.TooMuch("lists of more than %d elements", maxElements)
	}
	if b.err == nil {
		b.err = b.m.Take(pickBytes * size)
	}
	if b.err != nil {
		return
	}
	b.from = append(make([]int32, 0, size), b.from...)
	b.slot = append(make([]int, 0, size), b.slot...)
	b.m.Give(pickBytes * have)
}

// count is how many elements there are in all lists.
func (b *listBuilder) count() int { return len(b.slot) }

// refuse makes the builder refuse elements for an error, if it is one. It returns whether the
// builder refuses them, for this one or another.
func (b *listBuilder) refuse(err error) bool {
	if b.err == nil {
		b.err = err
	}
	return b.err != nil
}

// refused is the error for which elements are refused.
func (b *listBuilder) refused() error { return b.err }

// end ends a list. The error says that there is no room for it.
func (b *listBuilder) end() error {
	before := b.off[len(b.off)-1]
	b.off = append(b.off, int64(len(b.slot)))
	if b.err != nil {
		return b.err
	}
	return b.m.Step(8 + 4*(len(b.slot)-int(before)))
}

// maxElements bounds the elements that are made of a batch.
const maxElements = 64 << 20

// maxMade bounds the elements that the functions make of a batch which make many out of a
// number.
const maxMade = 4 << 20

// lists gathers the elements.
func (b *listBuilder) lists(elem arrow.DataType) (lists, error) {
	out := lists{off: b.off}
	var err error
	out.elems, err = b.elements(elem)
	out.elems.typ = elem
	return out, err
}

func (b *listBuilder) elements(elem arrow.DataType) (vec, error) {
	if b.err != nil {
		return vec{}, b.err
	}
	n := len(b.slot)
	if len(b.sources) == 1 {
		return b.sources[0].gather(b.m, b.slot, b.rowsOf(0))
	}
	pieces := newBranches(b.m, n, elem)
	for s, v := range b.sources {
		if err := b.m.Take(8 * n); err != nil {
			return vec{}, err
		}
		slots := make([]int, n)
		for i, from := range b.from {
			slots[i] = -1
			if int(from) == s {
				slots[i] = b.slot[i]
			}
		}
		rows := b.rowsOf(s)
		piece, err := v.gather(b.m, slots, rows)
		if err != nil {
			return vec{}, err
		}
		pieces.add(rows, piece)
	}
	return pieces.vec()
}

// rowsOf is the elements that come from a source.
func (b *listBuilder) rowsOf(source int) bitset {
	rows := newBitset(len(b.from))
	for i, from := range b.from {
		if int(from) == source {
			rows.set(i)
		}
	}
	return rows
}

// listBytes is about how much the elements of a row take.
func (v vec) listBytes(i int) int {
	l, span := v.listsOf()
	from, to := span(i)
	return (to - from) * (8 + l.elems.bytes()/max(l.elems.n, 1))
}

// listsOf returns the range of the elements of each row.
func (v vec) listsOf() (l lists, span func(i int) (from, to int)) {
	l = v.data.(lists)
	return l, func(i int) (int, int) {
		row := v.at(i)
		return int(l.off[row]), int(l.off[row+1])
	}
}
