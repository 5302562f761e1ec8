package rowid

import (
	"cmp"
	"slices"
	"sort"
)

// A Fragment is the part of a fragment that an Index needs.
type Fragment struct {
	ID      uint32
	IDs     *Sequence
	Deleted func(offset uint32) bool // nil: none is
}

// An Index finds the row of an id. It refers to the sequences of the fragments and takes
// little memory of its own. It is safe for concurrent use.
type Index struct {
	entries []entry  // ascending by lowest
	highest []uint64 // the highest id in the entries up to each
}

// An entry is a segment of a fragment's sequence.
type entry struct {
	lowest, highest uint64
	fragment        *Fragment
	offset          int64 // of the segment's first row
	ids             segment
	order           []uint32 // positions in the order of their ids, of an unsorted array
}

// NewIndex returns the index of all fragments of a version of a table.
func NewIndex(fragments []Fragment) *Index {
	x := new(Index)
	for i := range fragments {
		f := &fragments[i]
		for j, g := range f.IDs.segments {
			e := entry{fragment: f, offset: f.IDs.starts[j], ids: g}
			e.lowest, e.highest = g.bounds()
			if a, unsorted := g.(arraySegment); unsorted {
				e.order = order(a)
			}
			x.entries = append(x.entries, e)
		}
	}
	slices.SortFunc(x.entries, func(a, b entry) int { return cmp.Compare(a.lowest, b.lowest) })
	highest := uint64(0)
	for _, e := range x.entries {
		highest = max(highest, e.highest)
		x.highest = append(x.highest, highest)
	}
	return x
}

// order returns the positions of an array's values in ascending order.
func order(a arraySegment) []uint32 {
	positions := make([]uint32, a.len())
	for i := range positions {
		positions[i] = uint32(i)
	}
	slices.SortFunc(positions, func(i, j uint32) int { return cmp.Compare(a.at(int64(i)), a.at(int64(j))) })
	return positions
}

// Address returns the address of the row with an id, fragment << 32 | offset, or false if
// no row has it. An update deletes a row and writes it elsewhere under the same id, so
// deleted rows are skipped.
func (x *Index) Address(id uint64) (uint64, bool) {
	after := sort.Search(len(x.entries), func(i int) bool { return x.entries[i].lowest > id })
	for i := after - 1; i >= 0 && x.highest[i] >= id; i-- {
		e := &x.entries[i]
		k, ok := e.find(id)
		if !ok {
			continue
		}
		offset := uint32(e.offset + k)
		if e.fragment.Deleted == nil || !e.fragment.Deleted(offset) {
			return uint64(e.fragment.ID)<<32 | uint64(offset), true
		}
	}
	return 0, false
}

// find returns the position of an id in the segment, by binary search if order is set.
func (e *entry) find(id uint64) (int64, bool) {
	if id > e.highest {
		return 0, false
	}
	if e.order == nil {
		return e.ids.find(id)
	}
	i, ok := slices.BinarySearchFunc(e.order, id, func(k uint32, id uint64) int {
		return cmp.Compare(e.ids.at(int64(k)), id)
	})
	if !ok {
		return 0, false
	}
	return int64(e.order[i]), true
}
