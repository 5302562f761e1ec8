package rowid

import (
	"iter"
	"math/bits"
)

// Runs yields the ids at positions [from, to) as runs of ids that follow one another: the first and
// the last id of each. They come in the order of the positions.
func (s *Sequence) Runs(from, to int64) iter.Seq2[uint64, uint64] {
	return func(yield func(first, last uint64) bool) {
		for i, g := range s.segments {
			lo, hi := max(from-s.starts[i], 0), min(to-s.starts[i], g.len())
			if lo < hi && !g.runs(lo, hi, yield) {
				return
			}
		}
	}
}

func (r rangeSegment) runs(from, to int64, yield func(first, last uint64) bool) bool {
	return yield(r.at(from), r.at(to-1))
}

// runs cuts the range at each hole.
func (h holesSegment) runs(from, to int64, yield func(first, last uint64) bool) bool {
	first, last := h.at(from), h.at(to-1)
	for hole := h.holes.search(first); hole < h.holes.len() && h.holes.at(hole) < last; hole++ {
		if at := h.holes.at(hole); at > first && !yield(first, at-1) {
			return false
		}
		first = h.holes.at(hole) + 1
	}
	return yield(first, last)
}

// runs alternates between searches for the next unset and the next set bit.
func (b bitmapSegment) runs(from, to int64, yield func(first, last uint64) bool) bool {
	first, last := b.at(from)-b.start, b.at(to-1)-b.start
	for first <= last {
		end := min(b.next(first, last, false), last+1)
		if !yield(b.start+first, b.start+end-1) {
			return false
		}
		first = b.next(end, last, true)
	}
	return true
}

// next returns the first bit from a position on, up to last, that is set or is not, or last+1.
func (b bitmapSegment) next(at, last uint64, set bool) uint64 {
	for at <= last {
		x := b.set[at/8]
		if !set {
			x = ^x
		}
		if x >>= at % 8; x != 0 {
			return min(at+uint64(bits.TrailingZeros8(x)), last+1)
		}
		at = (at/8 + 1) * 8
	}
	return last + 1
}

func (s sortedSegment) runs(from, to int64, yield func(first, last uint64) bool) bool {
	return s.array.runs(from, to, yield)
}

func (s arraySegment) runs(from, to int64, yield func(first, last uint64) bool) bool {
	return s.array.runs(from, to, yield)
}

// runs compares neighbours. An id of 0 never continues a run, because last+1 may overflow.
func (a array) runs(from, to int64, yield func(first, last uint64) bool) bool {
	first := a.at(from)
	last := first
	for k := from + 1; k < to; k++ {
		id := a.at(k)
		if id != last+1 || id == 0 {
			if !yield(first, last) {
				return false
			}
			first = id
		}
		last = id
	}
	return yield(first, last)
}

// Runs yields the rows as runs of one version: the row after the last of the run, and the version.
// Each run starts where the one before it ends.
func (v *Versions) Runs() iter.Seq2[int64, uint64] {
	return func(yield func(end int64, version uint64) bool) {
		for i, end := range v.ends {
			if !yield(end, v.versions[i]) {
				return
			}
		}
	}
}
