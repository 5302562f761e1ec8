package column

import (
	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/internal/meter"
)

// A ListBuilder assembles a column of lists from elements of other columns, all of one
// type.
type ListBuilder struct {
	m       *meter.Meter
	sources []Vec
	from    []int32 // source of each element, -1 for NULL
	slot    []int   // and its place there
	off     []int64
	err     error // the reason for ignoring further elements
}

// NewListBuilder returns a builder for n lists.
func NewListBuilder(m *meter.Meter, n int, sources ...Vec) *ListBuilder {
	return &ListBuilder{m: m, sources: sources, off: append(make([]int64, 0, n+1), 0)}
}

// Add appends an element, the value in a slot of a source, to the current list.
func (b *ListBuilder) Add(source, slot int) {
	if b.sources[source].Valid != nil && !b.sources[source].Valid.Has(slot) {
		b.AddNull()
		return
	}
	b.append(int32(source), slot)
}

// AddNull appends NULL to the current list.
func (b *ListBuilder) AddNull() { b.append(-1, -1) }

func (b *ListBuilder) append(source int32, slot int) {
	if len(b.slot) == cap(b.slot) {
		b.grow()
	}
	if b.err == nil {
		b.from = append(b.from, source)
		b.slot = append(b.slot, slot)
	}
}

// pickBytes is the memory per element before elements are copied.
const pickBytes = 12

// grow reserves memory for more elements, after it has taken it from the meter.
func (b *ListBuilder) grow() {
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

// Count returns the number of elements in all lists.
func (b *ListBuilder) Count() int { return len(b.slot) }

// Refuse makes the builder ignore further elements if err is not nil. It reports whether elements are
// ignored, because of this error or an earlier one.
func (b *ListBuilder) Refuse(err error) bool {
	if b.err == nil {
		b.err = err
	}
	return b.err != nil
}

// Refused returns the error for which elements are ignored.
func (b *ListBuilder) Refused() error { return b.err }

// End ends a list. It returns an error if there is no memory for it.
func (b *ListBuilder) End() error {
	before := b.off[len(b.off)-1]
	b.off = append(b.off, int64(len(b.slot)))
	if b.err != nil {
		return b.err
	}
	return b.m.Step(8 + 4*(len(b.slot)-int(before)))
}

// maxElements bounds the list elements of one batch.
const maxElements = 64 << 20

// MaxMade bounds the elements per batch of functions that generate many elements from a number, such as
// range.
const MaxMade = 4 << 20

// Lists returns the lists, with their elements copied.
func (b *ListBuilder) Lists(elem arrow.DataType) (Lists, error) {
	out := Lists{Off: b.off}
	var err error
	out.Elems, err = b.Elements(elem)
	out.Elems.Type = elem
	return out, err
}

// Elements returns the elements of all lists, as one column.
func (b *ListBuilder) Elements(elem arrow.DataType) (Vec, error) {
	if b.err != nil {
		return Vec{}, b.err
	}
	n := len(b.slot)
	if len(b.sources) == 1 {
		return b.sources[0].Gather(b.m, b.slot, b.rowsOf(0))
	}
	pieces := NewBranches(b.m, n, elem)
	for s, v := range b.sources {
		if err := b.m.Take(8 * n); err != nil {
			return Vec{}, err
		}
		slots := make([]int, n)
		for i, from := range b.from {
			slots[i] = -1
			if int(from) == s {
				slots[i] = b.slot[i]
			}
		}
		rows := b.rowsOf(s)
		piece, err := v.Gather(b.m, slots, rows)
		if err != nil {
			return Vec{}, err
		}
		pieces.Add(rows, piece)
	}
	return pieces.Vec()
}

// rowsOf returns the elements that come from a source.
func (b *ListBuilder) rowsOf(source int) Bitset {
	rows := NewBitset(len(b.from))
	for i, from := range b.from {
		if int(from) == source {
			rows.Set(i)
		}
	}
	return rows
}

// ListBytes estimates the size of the elements of a row.
func (v Vec) ListBytes(i int) int {
	l, span := v.ListsOf()
	from, to := span(i)
	return (to - from) * (8 + l.Elems.Bytes()/max(l.Elems.N, 1))
}

// ListsOf returns the lists of v, and a function that returns the range of the elements of
// a row.
func (v Vec) ListsOf() (l Lists, span func(i int) (from, to int)) {
	l = v.Data.(Lists)
	return l, func(i int) (int, int) {
		row := v.Slot(i)
		return int(l.Off[row]), int(l.Off[row+1])
	}
}
