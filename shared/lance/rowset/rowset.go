// Package rowset holds sets of row addresses of a table version. The high 32 bits of an address are
// the fragment id, the low 32 bits the physical row: row 5 of fragment 3 is 3<<32 | 5 =
// 12884901893. A [Set] is a roaring bitmap of rows per fragment.
package rowset

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"tiltyard/shared/lance/internal/deletion"
	"tiltyard/shared/process/memory"
)

// A Set holds rows of a version by address. It takes up to two bytes per row, and almost nothing
// for consecutive rows. The zero value is empty. It is not safe for concurrent use while rows are
// added.
type Set struct {
	fragments map[uint64]*roaring.Bitmap // offsets of rows by fragment id
	bytes     int64                      // see Bytes
}

// At returns the set of rows at some addresses, in any order, also repeated ones.
func At(addresses ...uint64) *Set {
	s := &Set{}
	s.Add(addresses)
	return s
}

// AddHeld adds addresses and grows held by their memory. An address takes at most two bytes, and
// far less in a large set.
func (s *Set) AddHeld(ctx context.Context, held *memory.Hold, addresses []uint64) error {
	if len(addresses) == 0 {
		return nil
	}
	if err := held.Resize(ctx, s.Bytes()+2*int64(len(addresses))); err != nil {
		return err
	}
	s.Add(addresses)
	return held.Resize(ctx, s.Bytes())
}

// Add adds rows by their addresses, which had best be in the order of the table.
func (s *Set) Add(addresses []uint64) {
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

// AddBitmap adds rows of a fragment by offset. It takes ownership of the bitmap.
func (s *Set) AddBitmap(fragment uint64, offsets *roaring.Bitmap) {
	if offsets.IsEmpty() {
		return
	}
	s.Unite(&Set{map[uint64]*roaring.Bitmap{fragment: offsets}, fragmentOverhead + int64(offsets.GetSizeInBytes())})
}

// AddRange adds the rows of a fragment from one offset to before another.
func (s *Set) AddRange(fragment uint64, from, to uint32) {
	offsets := roaring.New()
	offsets.AddRange(uint64(from), uint64(to))
	s.AddBitmap(fragment, offsets)
}

// AddHeldBitmap adds rows of a fragment like AddBitmap and grows held by their memory.
func (s *Set) AddHeldBitmap(ctx context.Context, held *memory.Hold, fragment uint64, offsets *roaring.Bitmap) error {
	s.AddBitmap(fragment, offsets)
	return held.Resize(ctx, s.Bytes())
}

// Slice returns a new set of the rows with ranks [from, to). The rank of a row is the number of
// lower addresses in the set.
func (s *Set) Slice(from, to int64) *Set {
	some := &Set{}
	for _, id := range slices.Sorted(maps.Keys(s.fragments)) {
		n := int64(s.fragments[id].GetCardinality())
		if first, end := max(from, 0), min(to, n); first < end {
			rows := s.fragments[id].Clone()
			if end < n {
				next, _ := rows.Select(uint32(end)) // there is one: end is a rank
				rows.RemoveRange(uint64(next), 1<<32)
			}
			if first > 0 {
				next, _ := rows.Select(uint32(first))
				rows.RemoveRange(0, uint64(next))
			}
			some.AddBitmap(id, rows)
		}
		from, to = from-n, to-n
	}
	return some
}

// RemoveBefore removes the rows of a fragment before an offset.
func (s *Set) RemoveBefore(fragment uint64, end int64) {
	if rows := s.fragments[fragment]; rows != nil {
		if rows.RemoveRange(0, uint64(end)); rows.IsEmpty() {
			delete(s.fragments, fragment)
		}
	}
}

// Retain keeps the fragments that keep accepts. last is the highest row of the fragment in the set.
func (s *Set) Retain(keep func(fragment uint64, last uint32) (bool, error)) error {
	for id, rows := range s.fragments {
		kept, err := keep(id, rows.Maximum())
		if err != nil {
			return err
		}
		if !kept {
			delete(s.fragments, id)
		}
	}
	return nil
}

// fragmentOverhead is the approximate memory per fragment besides its rows.
const fragmentOverhead = 256

// Bytes estimates the memory of the set at its largest.
func (s *Set) Bytes() int64 { return s.bytes }

// Unite adds the rows of another set, which is not used any more.
func (s *Set) Unite(o *Set) {
	if s.fragments == nil {
		s.fragments = map[uint64]*roaring.Bitmap{}
	}
	for id, others := range o.fragments {
		if rows := s.fragments[id]; rows != nil {
			rows.Or(others)
		} else {
			s.fragments[id] = others
		}
	}
	s.bytes += o.bytes
}

// Intersect leaves the rows that are in another set, too.
func (s *Set) Intersect(o *Set) {
	for id, rows := range s.fragments {
		if others := o.fragments[id]; others != nil {
			rows.And(others)
		}
		if o.fragments[id] == nil || rows.IsEmpty() {
			delete(s.fragments, id)
		}
	}
}

// Subtract removes the rows that are in another set.
func (s *Set) Subtract(o *Set) {
	for id, rows := range s.fragments {
		others := o.fragments[id]
		if others == nil {
			continue
		}
		if rows.AndNot(others); rows.IsEmpty() {
			delete(s.fragments, id)
		}
	}
}

// Len returns the number of rows.
func (s *Set) Len() int64 {
	n := uint64(0)
	if s != nil {
		for _, rows := range s.fragments {
			n += rows.GetCardinality()
		}
	}
	return int64(n)
}

// Contains reports whether the row at an address is one of them.
func (s *Set) Contains(address uint64) bool {
	if s == nil {
		return false
	}
	rows := s.fragments[address>>32]
	return rows != nil && rows.Contains(uint32(address))
}

// All yields the addresses, ascending, which is the order of the table.
func (s *Set) All() iter.Seq[uint64] {
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

// Fragments returns the ids of the fragments with rows, in no order.
func (s *Set) Fragments() iter.Seq[uint64] { return maps.Keys(s.fragments) }

// Of returns the rows of a fragment as a deletion vector, or nil. Nothing may be added to the set
// afterwards.
func (s *Set) Of(fragment uint64) *deletion.Vector {
	if rows := s.fragments[fragment]; rows != nil {
		return deletion.Of(rows)
	}
	return nil
}

// Vectors returns the rows of each fragment as they are deleted. The set must not be added
// to afterwards.
func (s *Set) Vectors() map[uint64]*deletion.Vector {
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
