package difference

import (
	"context"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/rowid"
	"tiltyard/shared/process/memory"
)

// maxBytes bounds the sets of ids of one comparison. A set takes about two bytes for an isolated
// id, at most a bit per id in dense ranges, and almost nothing for consecutive ids.
const maxBytes = 256 << 20

// An account tracks the memory of all id sets of a comparison.
type account struct {
	of    idsOf
	held  memory.Hold
	limit int64
	total int64 // charged by all sets
}

// grow changes the charge of a set by some bytes.
func (a *account) grow(ctx context.Context, by int64) error {
	if by > 0 && a.total+by > a.limit {
		return fmt.Errorf("%w: the sets of row ids take more than %d MiB", ErrNotComparable, a.limit>>20)
	}
	if a.total+by > a.held.Bytes() || a.total+by < a.held.Bytes()/2 {
		if err := a.held.Resize(ctx, a.total+by); err != nil {
			return err
		}
	}
	a.total += by
	return nil
}

// settle reduces the charge to the memory of the sets that are left.
func (a *account) settle(ctx context.Context, left ...*ids) error {
	a.total = 0
	for _, s := range left {
		a.total += sizeOf(s.set)
	}
	return a.held.Resize(ctx, a.total)
}

// ids is a set of row ids that charges its memory before it grows.
type ids struct {
	account *account
	set     *roaring64.Bitmap
	counted int64 // charged to the account
	pending int64 // upper bound of the growth since the last measurement
	room    int64 // growth included in counted
}

func (a *account) ids() *ids { return &ids{account: a, set: roaring64.New()} }

const (
	containerBytes = 96 // approximate size of a container (65,536 possible ids) without its content
	bitmapBytes    = 256
	runBytes       = 8 // approximate size of a run or an id in an existing container
	minRoom        = 1 << 10
)

// sizeOf estimates the memory of a set.
func sizeOf(set *roaring64.Bitmap) int64 {
	stats := set.Stats()
	return bitmapBytes + int64(set.GetSizeInBytes()) + int64(stats.Containers)*containerBytes
}

// reserve charges an upper bound of the next growth. It measures the set only after considerable
// growth.
func (s *ids) reserve(ctx context.Context, bytes int64) error {
	if s.pending+bytes > s.room {
		if err := ctx.Err(); err != nil {
			return err
		}
		size := sizeOf(s.set)
		room := max(bytes, minRoom, size/4)
		if err := s.account.grow(ctx, size+room-s.counted); err != nil {
			return err
		}
		s.counted, s.room, s.pending = size+room, room, 0
	}
	s.pending += bytes
	return nil
}

// measured charges the real size of the set.
func (s *ids) measured(ctx context.Context) error {
	size := sizeOf(s.set)
	err := s.account.grow(ctx, size-s.counted)
	if err == nil {
		s.counted, s.room, s.pending = size, 0, 0
	}
	return err
}

// drop releases the set.
func (s *ids) drop() {
	s.account.total -= s.counted
	s.set, s.counted = nil, 0
}

// addRun adds the ids [first, last].
func (s *ids) addRun(ctx context.Context, first, last uint64) error {
	containers := int64(last>>16 - first>>16 + 1)
	if err := s.reserve(ctx, containers*(containerBytes+runBytes)); err != nil {
		return err
	}
	if first < last {
		s.set.AddRange(first, last)
	}
	s.set.Add(last)
	return nil
}

// idsOf returns the ids of all physical rows of a fragment in order.
type idsOf func(ctx context.Context, f *fragment.Fragment) (*rowid.Sequence, error)

// stableIDs is the idsOf of tables with stable row ids.
func stableIDs(ctx context.Context, f *fragment.Fragment) (*rowid.Sequence, error) {
	sequence, err := f.StableIDs(ctx)
	if err == nil && sequence == nil {
		err = fmt.Errorf("%w: fragment %d has no stable row ids", ErrNotComparable, f.Meta.ID)
	}
	return sequence, err
}

func addresses(_ context.Context, f *fragment.Fragment) (*rowid.Sequence, error) {
	return rowid.Range(f.Address(0), f.Address(f.Rows)), nil
}

// addLive adds the ids of all live rows of a fragment and returns their number.
func (s *ids) addLive(ctx context.Context, f *fragment.Fragment) (uint64, error) {
	return s.addLiveOf(ctx, f, 0, f.Rows)
}

// addLiveOf adds the ids of the live rows in [from, to) and returns their number.
func (s *ids) addLiveOf(ctx context.Context, f *fragment.Fragment, from, to int64) (uint64, error) {
	rows := uint64(0)
	err := eachRun(ctx, s.account.of, f, from, to, func(first, last uint64, _ int64) error {
		rows += last - first + 1
		return s.addRun(ctx, first, last)
	})
	return rows, err
}

// eachRun calls do for each run of consecutive ids of live rows in [from, to). row is the physical
// row of the first id.
func eachRun(ctx context.Context, of idsOf, f *fragment.Fragment, from, to int64, do func(first, last uint64, row int64) error) error {
	sequence, err := of(ctx, f)
	if err != nil {
		return err
	}
	deleted, err := f.Deletions(ctx)
	if err != nil {
		return err
	}
	for start, end := range deleted.Live(from, to) {
		for first, last := range sequence.Runs(start, end) {
			if err := do(first, last, start); err != nil {
				return err
			}
			start += int64(last-first) + 1
		}
	}
	return nil
}

// without returns the set difference s − o.
func (s *ids) without(ctx context.Context, o *ids) (*ids, error) {
	left := s.account.ids()
	if err := left.reserve(ctx, s.counted+o.counted); err != nil {
		return nil, err
	}
	left.set = roaring64.AndNot(s.set, o.set)
	return left, left.measured(ctx)
}

// intersect keeps the ids that are also in o.
func (s *ids) intersect(ctx context.Context, o *ids) error {
	return s.combine(ctx, o, s.set.And)
}

// subtract removes the ids of o.
func (s *ids) subtract(ctx context.Context, o *ids) error {
	return s.combine(ctx, o, s.set.AndNot)
}

// unite adds the ids of o.
func (s *ids) unite(ctx context.Context, o *ids) error {
	return s.combine(ctx, o, s.set.Or)
}

// combine charges an upper bound of the result, applies do, and then corrects the charge.
func (s *ids) combine(ctx context.Context, o *ids, do func(*roaring64.Bitmap)) error {
	if err := s.reserve(ctx, o.counted); err != nil {
		return err
	}
	do(o.set)
	return s.measured(ctx)
}
