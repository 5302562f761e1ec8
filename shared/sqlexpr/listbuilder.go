package sqlexpr

import "github.com/apache/arrow-go/v18/arrow"

// A listBuilder makes a column of lists of elements that are picked from other columns, all
// of one type.
type listBuilder struct {
	sources []vec
	from    []int32 // source of each element, -1 for NULL
	slot    []int   // and its place there
	off     []int64
}

// newListBuilder makes a builder for n lists.
func newListBuilder(n int, sources ...vec) *listBuilder {
	return &listBuilder{sources: sources, off: append(make([]int64, 0, n+1), 0)}
}

// add appends an element to the list that is being made.
func (b *listBuilder) add(source, slot int) {
	if b.sources[source].valid != nil && !b.sources[source].valid.has(slot) {
		b.addNull()
		return
	}
	b.from = append(b.from, int32(source))
	b.slot = append(b.slot, slot)
}

// addNull appends NULL to the list that is being made.
func (b *listBuilder) addNull() {
	b.from = append(b.from, -1)
	b.slot = append(b.slot, -1)
}

// end ends a list.
func (b *listBuilder) end() { b.off = append(b.off, int64(len(b.slot))) }

// maxElements bounds the elements that are made of a batch.
const maxElements = 64 << 20

// maxMade bounds the elements that the functions make of a batch which make many out of a
// number.
const maxMade = 4 << 20

// lists gathers the elements.
func (b *listBuilder) lists(elem arrow.DataType) (lists, error) {
	if len(b.slot) > maxElements {
		return lists{}, errorf(ErrTooLarge, noPos, "lists of more than %d elements", maxElements)
	}
	out := lists{off: b.off}
	var err error
	out.elems, err = b.elements(elem)
	out.elems.typ = elem
	return out, err
}

func (b *listBuilder) elements(elem arrow.DataType) (vec, error) {
	n := len(b.slot)
	if len(b.sources) == 1 {
		return b.sources[0].gather(b.slot, b.rowsOf(0))
	}
	pieces := branches{n: n, typ: elem}
	for s, v := range b.sources {
		slots := make([]int, n)
		for i, from := range b.from {
			slots[i] = -1
			if int(from) == s {
				slots[i] = b.slot[i]
			}
		}
		rows := b.rowsOf(s)
		piece, err := v.gather(slots, rows)
		if err != nil {
			return vec{}, err
		}
		pieces.add(rows, piece)
	}
	return pieces.vec(), nil
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

// listRows makes a list for every row that counts: f adds its elements, or returns false for
// a list that is NULL.
func listRows(n *node, args []vec, rows bitset, b *listBuilder, f func(i int) bool) (vec, error) {
	out, live := callRows(n, args, rows)
	valid := newBitset(out.n)
	for i := range out.n {
		if (live == nil || live.has(i)) && f(i) {
			valid.set(i)
		}
		b.end()
	}
	var err error
	out.valid = valid
	out.data, err = b.lists(elemType(n.typ))
	return out, err
}

// listsOf returns the range of the elements of each row.
func (v vec) listsOf() (l lists, span func(i int) (from, to int)) {
	l = v.data.(lists)
	return l, func(i int) (int, int) {
		row := v.at(i)
		return int(l.off[row]), int(l.off[row+1])
	}
}
