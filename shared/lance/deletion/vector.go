// Package deletion holds the rows of a fragment that are deleted: as a [Vector] in
// memory, and as deletion files, which are always the complete vector of a fragment.
//
// A few deleted rows are stored as an Arrow file, many as a roaring bitmap; see [Encode].
package deletion

import (
	"fmt"
	"iter"
	"math"
	"sort"

	"github.com/RoaringBitmap/roaring/v2"
)

// A Vector is the offsets of deleted rows among the physical rows of a fragment. It is
// not changed after it has been made, so it is safe for concurrent use. A nil Vector
// has none.
type Vector struct {
	bits *roaring.Bitmap
}

// New returns the vector of some offsets, in any order, also repeated ones.
func New(offsets ...uint32) *Vector {
	v := &Vector{bits: roaring.New()}
	v.bits.AddMany(offsets)
	return v
}

// Of returns the vector of the offsets in a bitmap, which is the vector's from then on.
func Of(offsets *roaring.Bitmap) *Vector { return &Vector{bits: offsets} }

// Contains reports whether the row at offset is deleted.
func (v *Vector) Contains(offset uint32) bool { return v != nil && v.bits.Contains(offset) }

// Len returns how many rows are deleted.
func (v *Vector) Len() int {
	if v == nil {
		return 0
	}
	return int(v.bits.GetCardinality())
}

// Deleted returns how many rows are deleted among those from offset from to before to.
func (v *Vector) Deleted(from, to int64) int64 {
	if v == nil || from >= to {
		return 0
	}
	return int64(v.bits.CardinalityInRange(uint64(from), uint64(to)))
}

// Live yields the runs of rows that are not deleted among those from offset from to
// before to, each as its first offset and the one behind its last.
func (v *Vector) Live(from, to int64) iter.Seq2[int64, int64] {
	return func(yield func(start, end int64) bool) {
		start := from
		if v != nil && from <= math.MaxUint32 {
			deleted := v.bits.Iterator()
			deleted.AdvanceIfNeeded(uint32(from))
			for deleted.HasNext() && int64(deleted.PeekNext()) < to {
				next := int64(deleted.Next())
				if start < next && !yield(start, next) {
					return
				}
				start = next + 1
			}
		}
		if start < to {
			yield(start, to)
		}
	}
}

// LiveBits returns a bit for each row from offset from to before to, the first in the lowest
// bit of the first word, which is set unless the row is deleted. Nil: none of them is deleted.
func (v *Vector) LiveBits(from, to int64) []uint64 {
	if v.Deleted(from, to) == 0 {
		return nil
	}
	words := make([]uint64, (to-from+63)/64)
	for i := range words {
		words[i] = ^uint64(0)
	}
	if rest := (to - from) % 64; rest != 0 {
		words[len(words)-1] = 1<<rest - 1
	}
	for row := range v.within(from, to) {
		words[row/64] &^= 1 << (row % 64)
	}
	return words
}

// Positions returns the deleted rows among those from offset from to before to, counted from
// from.
func (v *Vector) Positions(from, to int64) []int32 {
	positions := make([]int32, 0, v.Deleted(from, to))
	for row := range v.within(from, to) {
		positions = append(positions, int32(row))
	}
	return positions
}

// within yields the deleted rows among those from offset from to before to, counted from from.
func (v *Vector) within(from, to int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		if v == nil || from > math.MaxUint32 {
			return
		}
		deleted := v.bits.Iterator()
		deleted.AdvanceIfNeeded(uint32(from))
		for deleted.HasNext() && int64(deleted.PeekNext()) < to {
			if !yield(int64(deleted.Next()) - from) {
				return
			}
		}
	}
}

// Offset returns the physical offset of the k-th row, from 0, that is not deleted. It
// does not know how many rows the fragment has: past the last it counts on.
func (v *Vector) Offset(k int64) int64 {
	if v == nil || v.bits.IsEmpty() {
		return k
	}
	// Before the wanted row are k live ones and at most all deleted ones.
	return k + int64(sort.Search(v.Len(), func(d int) bool {
		offset := k + int64(d)
		return offset > math.MaxUint32 || offset+1-int64(v.bits.Rank(uint32(offset))) > k
	}))
}

// Offsets returns the deleted offsets, ascending. The caller owns the slice.
func (v *Vector) Offsets() []uint32 {
	if v == nil {
		return nil
	}
	return v.bits.ToArray()
}

// Union returns the rows that are deleted in either.
func (v *Vector) Union(o *Vector) *Vector {
	switch {
	case v == nil:
		return o
	case o == nil:
		return v
	}
	return &Vector{bits: roaring.Or(v.bits, o.bits)}
}

// Minus returns the rows that are deleted in v and not in o.
func (v *Vector) Minus(o *Vector) *Vector {
	if v == nil || o == nil {
		return v
	}
	return &Vector{bits: roaring.AndNot(v.bits, o.bits)}
}

// Intersects reports whether a row is deleted in both.
func (v *Vector) Intersects(o *Vector) bool {
	return v != nil && o != nil && v.bits.Intersects(o.bits)
}

// Equal reports whether the same rows are deleted in both.
func (v *Vector) Equal(o *Vector) bool {
	if v.Len() == 0 || o.Len() == 0 {
		return v.Len() == o.Len()
	}
	return v.bits.Equals(o.bits)
}

// String returns the number of deleted rows.
func (v *Vector) String() string { return fmt.Sprintf("%d rows deleted", v.Len()) }
