package dataset

import (
	"iter"
	"maps"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"tiltyard/shared/lance/deletion"
)

// A RowSet is rows of a version, by their addresses. It takes up to two bytes for a row, and
// next to nothing for rows that follow one another. The zero value is empty. It is not safe for
// concurrent use while rows are added.
type RowSet struct {
	fragments map[uint64]*roaring.Bitmap // offsets of rows by fragment id
	bytes     int64                      // see Bytes
}

// RowsAt returns the set of rows at some addresses, in any order, also repeated ones.
func RowsAt(addresses ...uint64) *RowSet {
	s := &RowSet{}
	s.Add(addresses)
	return s
}

// Add adds rows by their addresses, which had best be in the order of the table.
func (s *RowSet) Add(addresses []uint64) {
	offsets := make([]uint32, 0, len(addresses))
	for len(addresses) > 0 {
		id, n := addresses[0]>>32, 0
		for offsets = offsets[:0]; n < len(addresses) && addresses[n]>>32 == id; n++ {
			offsets = append(offsets, uint32(addresses[n]))
		}
		addresses = addresses[n:]
		if s.fragments == nil {
			s.fragments = map[uint64]*roaring.Bitmap{}
		}
		rows := s.fragments[id]
		if rows == nil {
			rows = roaring.New()
			s.fragments[id] = rows
			s.bytes += fragmentOverhead
		}
		before := rows.GetSizeInBytes()
		rows.AddMany(offsets)
		s.bytes += int64(rows.GetSizeInBytes()) - int64(before)
	}
}

// fragmentOverhead is about what a fragment costs in a set beside its rows.
const fragmentOverhead = 256

// Bytes is about how much memory the rows took when they were all there.
func (s *RowSet) Bytes() int64 { return s.bytes }

// Intersect leaves the rows that are in another set, too.
func (s *RowSet) Intersect(o *RowSet) {
	for id, rows := range s.fragments {
		if others := o.fragments[id]; others != nil {
			rows.And(others)
		} else {
			delete(s.fragments, id)
		}
	}
}

// Len returns how many rows there are.
func (s *RowSet) Len() int64 {
	n := uint64(0)
	if s != nil {
		for _, rows := range s.fragments {
			n += rows.GetCardinality()
		}
	}
	return int64(n)
}

// Contains reports whether the row at an address is one of them.
func (s *RowSet) Contains(address uint64) bool {
	if s == nil {
		return false
	}
	rows := s.fragments[address>>32]
	return rows != nil && rows.Contains(uint32(address))
}

// All yields the addresses, ascending, which is the order of the table.
func (s *RowSet) All() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		if s == nil {
			return
		}
		for _, id := range slices.Sorted(maps.Keys(s.fragments)) {
			for rows := s.fragments[id].Iterator(); rows.HasNext(); {
				if !yield(id<<32 | uint64(rows.Next())) {
					return
				}
			}
		}
	}
}

// of returns the rows of a fragment.
func (s *RowSet) of(fragment uint64) *deletion.Vector {
	if rows := s.fragments[fragment]; rows != nil {
		return deletion.Of(rows)
	}
	return nil
}

// vectors returns the rows of each fragment as they are deleted. The set must not be added
// to afterwards.
func (s *RowSet) vectors() map[uint64]*deletion.Vector {
	if s == nil {
		return nil
	}
	vectors := make(map[uint64]*deletion.Vector, len(s.fragments))
	for id, rows := range s.fragments {
		rows.RunOptimize()
		vectors[id] = deletion.Of(rows)
	}
	return vectors
}
