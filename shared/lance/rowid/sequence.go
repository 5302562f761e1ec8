// Package rowid holds the stable ids of rows: which ids the rows of a fragment have
// ([Sequence]), in which versions they were made and changed ([Versions]), and where
// the row of an id is now ([Index]).
//
// Tables with stable row ids store both sequences in each fragment of their manifest.
// Elsewhere the id of a row is its address: fragment id << 32 | offset.
package rowid

import (
	"fmt"
	"math"
	"sort"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
)

// maxRows bounds a sequence: offsets of rows have 32 bits.
const maxRows = math.MaxUint32

// A Sequence is the ids of the rows of a fragment: the k-th id belongs to the row at
// physical offset k. It is not changed after it has been made.
type Sequence struct {
	segments []segment
	starts   []int64 // how many ids come before each segment
	length   int64
}

// Parse reads an encoded sequence, a fragment's RowIDs. It keeps parts of b. Bytes that
// are no sequence are [lance.ErrCorrupt].
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

// Range returns the sequence of the ids from start to before end, which is not below it.
func Range(start, end uint64) *Sequence {
	s := new(Sequence)
	s.add(rangeSegment{start, end})
	return s
}

// New returns the sequence of some ids, in their order. It does not keep them.
func New(ids []uint64) *Sequence {
	s := new(Sequence)
	s.add(compact(ids))
	return s
}

// Concat returns the sequence of all ids of some sequences.
func Concat(sequences ...*Sequence) *Sequence {
	all := new(Sequence)
	for _, s := range sequences {
		for _, g := range s.segments {
			all.add(g)
		}
	}
	return all
}

// add appends a segment; a range that goes on where the last one ended becomes one with it.
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

// Slice returns the sequence of the ids from position from to before to.
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

// AppendTo appends the ids from position from to before to to ids.
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
