package datafile

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
)

// An interval is size bytes of a file from a position on.
type interval struct {
	from, size int64
}

// An extent is a run of bytes of a file that has been read.
type extent struct {
	from  int64
	bytes []byte
}

func (e extent) end() int64 { return e.from + int64(len(e.bytes)) }

// find returns size bytes from a position on, and whether the extent holds them.
func (e extent) find(from, size int64) ([]byte, bool) {
	if from < e.from || size > e.end()-from {
		return nil, false
	}
	at := from - e.from
	return e.bytes[at : at+size : at+size], true
}

// after returns the part of the extent from a position on, as a copy, so that the rest can be
// freed.
func (e extent) after(from int64) extent {
	from = max(from, e.from)
	return extent{from, slices.Clone(e.bytes[from-e.from:])}
}

// maxMerged is the size past which ranges are not merged any more, because separate requests run
// concurrently.
const maxMerged = 16 << 20

// A source holds the bytes of a file that one read has fetched so far.
type source struct {
	file   *stored
	onward bool     // the read is a part of a scan
	have   []extent // by position
}

// newSource returns a source that starts with the bytes kept since the file was opened.
func newSource(f *stored, onward bool) *source {
	s := &source{file: f, onward: onward}
	if f.kept.bytes != nil {
		s.have = append(s.have, f.kept)
	}
	return s
}

// find returns bytes of the file, or nil if they have not been read.
func (s *source) find(want interval) []byte {
	i := sort.Search(len(s.have), func(i int) bool { return s.have[i].from > want.from })
	for i--; i >= 0; i-- {
		if b, ok := s.have[i].find(want.from, want.size); ok {
			return b
		}
	}
	return nil
}

// In a call with more than manyRanges ranges, ranges are joined across up to manyGaps read gaps. A
// remote store charges as much for a request as a function does for the time of a megabyte, and no
// longer serves so many requests in parallel.
const manyRanges, manyGaps = 32, 3

// read fetches the wanted intervals by one call of the store and charges their memory to the
// context's budget.
func (s *source) read(ctx context.Context, wanted []interval) error {
	ranges := merge(wanted, s.file.gap)
	if len(ranges) > manyRanges {
		ranges = merge(wanted, manyGaps*s.file.gap)
	}
	isLarge := func(r objectstore.Range) bool { return r.Length >= s.file.gap }
	if s.onward && len(ranges) <= maxTrail && !slices.ContainsFunc(ranges, isLarge) {
		return s.readOn(ctx, ranges)
	}
	total := int64(0)
	for _, r := range ranges {
		total += r.Length
	}
	if err := memory.FromContext(ctx).Take(ctx, total); err != nil {
		return err
	}
	read, err := s.fetch(ctx, ranges)
	s.add(read)
	return err
}

// fetch reads ranges whose memory has been taken.
func (s *source) fetch(ctx context.Context, ranges []objectstore.Range) ([]extent, error) {
	if len(ranges) == 0 {
		return nil, nil
	}
	got, _, err := s.file.store.GetRanges(ctx, s.file.key, ranges...)
	if err != nil {
		return nil, err
	}
	read := make([]extent, len(got))
	for i, b := range got {
		read[i] = extent{ranges[i].Offset, b}
	}
	return read, nil
}

func (s *source) add(read []extent) {
	s.have = append(s.have, read...)
	slices.SortFunc(s.have, func(a, b extent) int { return cmp.Compare(a.from, b.from) })
}

// merge joins intervals that overlap or have no more than gap bytes between them.
func merge(wanted []interval, gap int64) []objectstore.Range {
	slices.SortFunc(wanted, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
	var ranges []objectstore.Range
	for _, w := range wanted {
		if n := len(ranges); n > 0 {
			last := &ranges[n-1]
			end := last.Offset + last.Length
			joined := max(end, w.from+w.size) - last.Offset
			if w.from < end || w.from-end <= gap && joined <= maxMerged {
				last.Length = joined
				continue
			}
		}
		ranges = append(ranges, objectstore.Range{Offset: w.from, Length: w.size})
	}
	return ranges
}
