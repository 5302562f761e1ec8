// Package deletion holds the deleted rows of a fragment: as a [Vector] in memory, and as deletion
// files. A deletion file always lists all deleted rows of its fragment, so a reader needs only the
// one named in the manifest. Few deleted rows are stored as an Arrow file (arrowfile.go), many as a
// roaring bitmap (file.go); see [Encode].
//
// For example, a delete of row 5 in fragment 3 from version 7, where row 2 was deleted before,
// writes _deletions/3-7-<random id>.arrow with the offsets 2 and 5. The file of the older version
// stays for its readers.
package deletion

import (
	"fmt"
	"iter"
	"math"
	"sort"

	"github.com/RoaringBitmap/roaring/v2"
)

// A Vector is the set of offsets of the deleted rows among a fragment's physical rows. It is
// immutable and safe for concurrent use. A nil Vector is empty.
type Vector struct {
	bits *roaring.Bitmap
}

// New returns the vector of some offsets, which may come in any order and repeatedly.
func New(offsets ...uint32) *Vector {
	v := &Vector{bits: roaring.New()}
	v.bits.AddMany(offsets)
	return v
}

// Of returns the vector of the offsets in a bitmap and takes ownership of the bitmap.
func Of(offsets *roaring.Bitmap) *Vector { return &Vector{bits: offsets} }

// Contains reports whether the row at offset is deleted.
func (v *Vector) Contains(offset uint32) bool { return v != nil && v.bits.Contains(offset) }

// Len returns the number of deleted rows.
func (v *Vector) Len() int {
	if v == nil {
		return 0
	}
	return int(v.bits.GetCardinality())
}

// MemBytes estimates the memory of the vector.
func (v *Vector) MemBytes() int64 {
	if v.Len() == 0 {
		return 0
	}
	return MemBytes(uint64(v.bits.Maximum())+1, v.bits.GetCardinality())
}

// MemBytes estimates the memory of a vector of a fragment: per container of 65,536 rows, 2 bytes
// per deleted row or one bit per row, whichever is less.
func MemBytes(rows, deleted uint64) int64 {
	const container, bits = 1 << 16, 8 << 10
	rows = min(rows, math.MaxUint32)
	deleted = min(deleted, rows)
	containers := min(rows/container+1, deleted)
	return int64(min(2*deleted, containers*bits) + containers*64)
}

// Deleted returns the number of deleted rows in [from, to).
func (v *Vector) Deleted(from, to int64) int64 {
	if v == nil || from >= to {
		return 0
	}
	return int64(v.bits.CardinalityInRange(uint64(from), uint64(to)))
}

// Live yields the runs of rows in [from, to) that are not deleted, each as [start, end).
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

// LiveSet returns the rows in [from, to) that are not deleted. It belongs to the caller.
func (v *Vector) LiveSet(from, to int64) *roaring.Bitmap {
	live := roaring.New()
	live.AddRange(uint64(from), uint64(to))
	if v != nil {
		live.AndNot(v.bits)
	}
	return live
}

// LiveBits returns one bit for each of the rows [from, to), the first in the lowest bit of
// the first word. A bit is set if its row is not deleted. The result is nil if no row is
// deleted.
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

// LivePositions returns the rows in [from, to) that are not deleted, counted from from; nil
// is all of them.
func (v *Vector) LivePositions(from, to int64) []int32 {
	gone := v.Deleted(from, to)
	if gone == 0 {
		return nil
	}
	live := make([]int32, 0, to-from-gone)
	for start, end := range v.Live(from, to) {
		for row := start; row < end; row++ {
			live = append(live, int32(row-from))
		}
	}
	return live
}

// Positions returns the deleted rows among [from, to), counted from from.
func (v *Vector) Positions(from, to int64) []int32 {
	positions := make([]int32, 0, v.Deleted(from, to))
	for row := range v.within(from, to) {
		positions = append(positions, int32(row))
	}
	return positions
}

// within yields the deleted rows among [from, to), counted from from.
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

// Offset returns the physical offset of the k-th live row, from 0. The vector does not store the
// number of rows: past the last deletion, every row counts as live.
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

// Union returns the rows that are deleted in v, in o or in both.
func (v *Vector) Union(o *Vector) *Vector {
	switch {
	case v == nil:
		return o
	case o == nil:
		return v
	}
	return &Vector{bits: roaring.Or(v.bits, o.bits)}
}

// Minus returns the rows that are deleted in v but not in o.
func (v *Vector) Minus(o *Vector) *Vector {
	if v == nil || o == nil {
		return v
	}
	return &Vector{bits: roaring.AndNot(v.bits, o.bits)}
}

// Intersects reports whether any row is deleted in both vectors.
func (v *Vector) Intersects(o *Vector) bool {
	return v != nil && o != nil && v.bits.Intersects(o.bits)
}

// Equal reports whether both vectors hold the same rows.
func (v *Vector) Equal(o *Vector) bool {
	if v.Len() == 0 || o.Len() == 0 {
		return v.Len() == o.Len()
	}
	return v.bits.Equals(o.bits)
}

// String returns the number of deleted rows.
func (v *Vector) String() string { return fmt.Sprintf("%d rows deleted", v.Len()) }
