package legacyfile

import (
	"cmp"
	"context"
	"slices"

	"tiltyard/shared/storage/objectstore"
)

// A span is a run of size bytes of a file, from a position on.
type span struct {
	from, size int64
}

// An extent is a run of bytes of a file that has been read.
type extent struct {
	from  int64
	bytes []byte
}

// find returns the bytes of a span, and whether the extent holds them.
func (e extent) find(s span) ([]byte, bool) {
	end := e.from + int64(len(e.bytes))
	if s.from < e.from || s.size < 0 || s.from > end || s.size > end-s.from {
		return nil, false
	}
	at := s.from - e.from
	return e.bytes[at : at+s.size : at+s.size], true
}

// maxMerged is the size past which spans are not merged any more, because separate requests
// run concurrently.
const maxMerged = 16 << 20

// fetch returns the bytes of spans within the file, by at most one call of the store.
func (f *stored) fetch(ctx context.Context, spans []span) ([][]byte, error) {
	parts := make([][]byte, len(spans))
	var order []int // spans to read, by position
	for i, s := range spans {
		if b, ok := f.kept.find(s); ok {
			parts[i] = b
		} else if s.size > 0 {
			order = append(order, i)
		}
	}
	if len(order) == 0 {
		return parts, nil
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(spans[a].from, spans[b].from) })
	var ranges []objectstore.Range
	in := make([]int, len(spans)) // which range holds a span
	for _, i := range order {
		s := spans[i]
		if n := len(ranges); n > 0 {
			last := &ranges[n-1]
			end := last.Offset + last.Length
			joined := max(end, s.from+s.size) - last.Offset
			if s.from < end || s.from-end <= f.gap && joined <= maxMerged {
				last.Length, in[i] = joined, n-1
				continue
			}
		}
		in[i] = len(ranges)
		ranges = append(ranges, objectstore.Range{Offset: s.from, Length: s.size})
	}
	got, _, err := f.store.GetRanges(ctx, f.key, ranges...)
	if err != nil {
		return nil, err
	}
	for _, i := range order {
		held := extent{ranges[in[i]].Offset, got[in[i]]}
		b, ok := held.find(spans[i])
		if !ok {
			return nil, corrupt("bytes %d to %d are not there", spans[i].from, spans[i].from+spans[i].size)
		}
		parts[i] = b
	}
	return parts, nil
}
