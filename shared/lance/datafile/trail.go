package datafile

import (
	"context"
	"slices"
	"sync"

	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
)

// A trail caches the small ranges that scans of a file read last, newest first. If rows are far
// larger decoded than stored, a scan reads a few rows at a time, and the next rows lie in the same
// bytes or right behind them. A small range that continues another is therefore extended to the
// read gap of the store. One goroutine reads while the others wait for its bytes.
type trail struct {
	turn    chan struct{} // held by the reader
	mu      sync.Mutex
	extents []extent
}

// maxTrail bounds the extents of a trail. Each has at most one read gap of bytes.
const maxTrail = 8

func newTrail() *trail { return &trail{turn: make(chan struct{}, 1)} }

// memBytes returns the bytes of all extents.
func (t *trail) memBytes() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := int64(0)
	for _, e := range t.extents {
		n += int64(len(e.bytes))
	}
	return n
}

// at returns the position of the extent that a range continues, or -1.
func (t *trail) at(r objectstore.Range, gap int64) int {
	return slices.IndexFunc(t.extents, func(e extent) bool { return r.Offset >= e.from && r.Offset-e.end() <= gap })
}

// follows reports whether a range continues one that was read.
func (t *trail) follows(ranges []objectstore.Range, gap int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(ranges, func(r objectstore.Range) bool { return t.at(r, gap) >= 0 })
}

// have returns the extents that contain some of the ranges, and the ranges to read for the others,
// clipped to end.
func (t *trail) have(ranges []objectstore.Range, gap, end int64) (held []extent, missing []objectstore.Range) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range ranges {
		at := t.at(r, gap)
		if at < 0 {
			missing = append(missing, r)
			continue
		}
		e := t.extents[at]
		t.extents = slices.Delete(t.extents, at, at+1)
		if _, ok := e.find(r.Offset, r.Length); ok {
			t.extents = slices.Insert(t.extents, 0, e)
			held = append(held, e)
			continue
		}
		r.Length = max(r.Length, min(gap, end-r.Offset))
		missing = append(missing, r)
	}
	return held, missing
}

// add puts new extents first and drops the oldest ones.
func (t *trail) add(read []extent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.extents = slices.Insert(t.extents, 0, read...)
	t.extents = t.extents[:min(len(t.extents), maxTrail)]
}

// readOn reads ranges that are smaller than the store's read gap, for a scan.
func (s *source) readOn(ctx context.Context, ranges []objectstore.Range) error {
	t := s.file.trail
	// Do not block for memory while others wait for the turn.
	if err := memory.FromContext(ctx).Take(ctx, int64(len(ranges))*s.file.gap); err != nil {
		return err
	}
	if t.follows(ranges, s.file.gap) {
		select {
		case t.turn <- struct{}{}:
			defer func() { <-t.turn }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		var held []extent
		held, ranges = t.have(ranges, s.file.gap, s.file.metadata.from)
		s.add(held)
	}
	read, err := s.fetch(ctx, ranges)
	if err != nil {
		return err
	}
	t.add(read)
	s.add(read)
	return nil
}
