// Package rowid holds the stable ids of rows: the ids of the rows of a fragment
// ([Sequence]), the versions in which they were created and last changed ([Versions]), and
// the place of each id ([Index]).
//
// In a table with stable row ids, each fragment of a manifest stores both as encoded
// messages. In other tables the id of a row is its address: fragment id << 32 | offset. The
// messages of the ids 0, 1 and 2, of 10, 11 and 13, and of 7 and 3 are
//
//	0a 04 0a 02 10 03                   range{end=2: 3}
//	0a 09 1a 07 08 0a 10 0e 1a 01 0b    range_with_bitmap{start=1: 10, end=2: 14, bitmap=3: 0b}
//	0a 0c 2a 0a 0a 08 08 03 12 04 04 00 00 00   array{u16_array=1{base=1: 3, offsets=2}}
//
// A row moves when its fragment is compacted or the row is updated; its id stays. Source:
// protos/rowids.proto of the format; crate lance-table, src/rowids.
package rowid

import (
	"fmt"
	"math"
	"sort"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
)

// maxRows bounds the length of a sequence, since offsets of rows have 32 bits.
const maxRows = math.MaxUint32

// A Sequence is the ids of the rows of a fragment: the k-th id belongs to the row at
// physical offset k. It does not change after it has been made.
type Sequence struct {
	segments []segment
	starts   []int64 // number of ids before each segment
	length   int64
}

// Parse parses an encoded sequence, the RowIDs of a fragment. The result shares memory with
// b. Malformed bytes are [lance.ErrCorrupt].
func Parse(b []byte) (*Sequence, error) {
	var message pb.RowIDSequence
	if err := message.Unmarshal(b); err != nil {
		return nil, corrupt("%v", err)
	}
	s := new(Sequence)
	for i := range message.Segments {
		g, err := parseSegment(&message.Segments[i])
		if err != nil {
			return nil, err
		}
		if s.add(g); s.length > maxRows {
			return nil, corrupt("%d ids, want at most %d", s.length, int64(maxRows))
		}
	}
	return s, nil
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: row ids: %s", lance.ErrCorrupt, fmt.Sprintf(format, args...))
}

// Range returns the sequence of the ids [start, end).
func Range(start, end uint64) *Sequence {
	s := new(Sequence)
	s.add(rangeSegment{start, end})
	return s
}

// New returns the sequence of some ids in the given order. It does not keep the slice.
func New(ids []uint64) *Sequence {
	s := new(Sequence)
	s.add(compact(ids))
	return s
}

// Concat returns the ids of some sequences as one sequence.
func Concat(sequences ...*Sequence) *Sequence {
	all := new(Sequence)
	for _, s := range sequences {
		for _, g := range s.segments {
			all.add(g)
		}
	}
	return all
}

// add appends a segment. It joins a range to the last one if that ends where the range
// starts.
func (s *Sequence) add(g segment) {
	n := g.len()
	if n == 0 {
		return
	}
	if r, ok := g.(rangeSegment); ok && len(s.segments) > 0 {
		last := len(s.segments) - 1
		if before, ok := s.segments[last].(rangeSegment); ok && before.end == r.start {
			s.segments[last] = rangeSegment{before.start, r.end}
			s.length += n
			return
		}
	}
	s.segments = append(s.segments, g)
	s.starts = append(s.starts, s.length)
	s.length += n
}

// Len returns the number of ids.
func (s *Sequence) Len() int64 { return s.length }

// At returns the k-th id, where 0 <= k < Len.
func (s *Sequence) At(k int64) uint64 {
	i := sort.Search(len(s.starts), func(i int) bool { return s.starts[i] > k }) - 1
	return s.segments[i].at(k - s.starts[i])
}

// Slice returns the sequence of the ids at positions [from, to).
func (s *Sequence) Slice(from, to int64) *Sequence {
	out := new(Sequence)
	for i, g := range s.segments {
		lo, hi := max(from-s.starts[i], 0), min(to-s.starts[i], g.len())
		if lo >= hi {
			continue
		}
		if lo == 0 && hi == g.len() {
			out.add(g)
		} else {
			out.add(sliceSegment(g, lo, hi))
		}
	}
	return out
}

// AppendTo appends the ids at positions [from, to) to ids.
func (s *Sequence) AppendTo(ids []uint64, from, to int64) []uint64 {
	for i, g := range s.segments {
		lo, hi := max(from-s.starts[i], 0), min(to-s.starts[i], g.len())
		if lo < hi {
			ids = g.appendTo(ids, lo, hi)
		}
	}
	return ids
}

// IDs returns all ids. The caller owns the slice.
func (s *Sequence) IDs() []uint64 { return s.AppendTo(make([]uint64, 0, s.length), 0, s.length) }

// Encode returns the bytes of the sequence, for a fragment's RowIDs.
func (s *Sequence) Encode() []byte {
	message := pb.RowIDSequence{Segments: make([]pb.U64Segment, len(s.segments))}
	for i, g := range s.segments {
		message.Segments[i] = g.message()
	}
	e := pb.Encoder{B: []byte{}} // not nil: no rows are not the same as no ids
	message.Marshal(&e)
	return e.B
}
