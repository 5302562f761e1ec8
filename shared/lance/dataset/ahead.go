package dataset

import (
	"context"
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
)

// A scan reads and decodes windows ahead of whoever takes its batches: about windowBytes
// each, so many that their sum stays under aheadBytes. That bounds its memory. How much
// text expands is not known before some has been decoded, so it begins with few.
const (
	windowBytes = 8 << 20
	aheadBytes  = 32 << 20
	maxAhead    = 64
	maxUnproven = 4
)

// mapWindows calls f on windows, several at a time, and yields the results in order; f
// also returns the size of what it read. Empty batches are left out. The first windows
// are begun before it returns.
func mapWindows[T any](ctx context.Context, plan *plan, f func(context.Context, window) (T, int64, error)) iter.Seq2[T, error] {
	ctx, stop := context.WithCancel(ctx)
	ahead := readAhead[T]{ctx: ctx, windows: plan.first, more: plan.rest(ctx), f: f, scale: 1}
	ahead.fill()
	return func(yield func(T, error) bool) {
		defer stop()
		for ; len(ahead.queue) > 0; ahead.fill() {
			r := ahead.take()
			if r.err == nil {
				r.err = ctx.Err()
			}
			if batch, ok := any(r.value).(arrow.RecordBatch); ok && r.err == nil && batch.NumRows() == 0 {
				continue
			}
			if !yield(r.value, r.err) || r.err != nil {
				return
			}
		}
	}
}

// readAhead is the windows of a scan that are in work, in order.
type readAhead[T any] struct {
	ctx     context.Context //nolint:containedctx // lives as long as one scan
	windows []window        // not begun
	more    <-chan planned  // those after them
	f       func(context.Context, window) (T, int64, error)
	queue   []inWork[T]
	bytes   float64 // of the windows in work, as estimated
	scale   float64 // how much more windows turned out to hold
	proven  bool    // whether one did
}

type inWork[T any] struct {
	done  chan result[T]
	bytes float64
}

type result[T any] struct {
	value T
	bytes int64 // what it really occupied
	err   error
}

// fill begins windows while memory allows.
func (a *readAhead[T]) fill() {
	for a.room() && a.refill() {
		w := a.windows[0]
		a.windows = a.windows[1:]
		done := make(chan result[T], 1)
		a.queue = append(a.queue, inWork[T]{done, float64(w.bytes)})
		a.bytes += float64(w.bytes)
		go func() {
			defer contain(func(err error) { done <- result[T]{err: err} })
			value, bytes, err := a.f(a.ctx, w)
			done <- result[T]{value, bytes, err}
		}()
	}
}

func (a *readAhead[T]) room() bool {
	switch n := len(a.queue); {
	case n < 2:
		return true
	case !a.proven && n >= maxUnproven:
		return false
	default:
		return n < maxAhead && a.bytes*a.scale < aheadBytes
	}
}

// refill says whether there are windows to begin. It waits for the planning of more only
// when none are in work.
func (a *readAhead[T]) refill() bool {
	for len(a.windows) == 0 {
		var p planned
		var ok bool
		if len(a.queue) == 0 {
			p, ok = <-a.more
		} else {
			select {
			case p, ok = <-a.more:
			default:
			}
		}
		if !ok {
			return false
		}
		if p.err != nil {
			failed := make(chan result[T], 1)
			failed <- result[T]{err: p.err}
			a.queue = append(a.queue, inWork[T]{done: failed})
			return false
		}
		a.windows = p.windows
	}
	return true
}

// take waits for the first window in work.
func (a *readAhead[T]) take() result[T] {
	first := a.queue[0]
	a.queue = a.queue[1:]
	a.bytes -= first.bytes
	r := <-first.done
	if r.bytes > 0 && first.bytes > 0 {
		a.scale = max(1, (a.scale+float64(r.bytes)/first.bytes)/2)
		a.proven = true
	}
	return r
}

// sizeOf returns the bytes of a batch.
func sizeOf(batch arrow.RecordBatch) int64 {
	if batch == nil {
		return 0
	}
	total := int64(0)
	for _, c := range batch.Columns() {
		total += int64(c.Data().SizeInBytes())
	}
	return total
}

// contain turns a panic in a goroutine, where nobody else could catch it, into an error.
func contain(report func(error)) {
	if r := recover(); r != nil {
		report(fmt.Errorf("panic while reading: %v", r))
	}
}
