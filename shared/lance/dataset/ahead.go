package dataset

import (
	"context"
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/objectstore"
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

// Small windows of storage that is near are read one after the other, up to so many and so
// large: a goroutine for each takes longer than to read it.
const (
	runWindows = 32
	runBytes   = 1 << 20
)

// mapWindows calls f on windows, several at a time, and yields the results in order; f
// also returns the size of what it read. Empty batches are left out. The first windows
// are begun before it returns.
func mapWindows[T any](ctx context.Context, plan *plan, f func(context.Context, window) (T, int64, error)) iter.Seq2[T, error] {
	ctx, stop := context.WithCancel(ctx)
	ahead := readAhead[T]{
		ctx: ctx, windows: plan.first, more: plan.rest(ctx), f: f, scale: 1,
		near: objectstore.Near(plan.dataset.table.store),
	}
	ahead.fill()
	return func(yield func(T, error) bool) {
		defer stop()
		for ; len(ahead.read)+len(ahead.queue) > 0; ahead.fill() {
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
	near    bool
	read    []result[T] // that were in work
	queue   []inWork[T]
	bytes   float64 // of the windows in work, as estimated
	scale   float64 // how much more windows turned out to hold
	proven  bool    // whether one did
}

// inWork is a run of windows: one, or some small ones.
type inWork[T any] struct {
	done  chan []result[T]
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
		run, bytes := a.run()
		done := make(chan []result[T], 1)
		a.queue = append(a.queue, inWork[T]{done, float64(bytes)})
		a.bytes += float64(bytes)
		go func() {
			defer contain(func(err error) { done <- []result[T]{{err: err}} })
			results := make([]result[T], 0, len(run))
			for _, w := range run {
				value, bytes, err := a.f(a.ctx, w)
				results = append(results, result[T]{value, bytes, err})
				if err != nil {
					break
				}
			}
			done <- results
		}()
	}
}

// run takes the windows that one goroutine reads next.
func (a *readAhead[T]) run() (run []window, bytes int64) {
	n := 1
	bytes = a.windows[0].bytes
	for a.near && n < min(len(a.windows), runWindows) && bytes+a.windows[n].bytes <= runBytes {
		bytes += a.windows[n].bytes
		n++
	}
	run, a.windows = a.windows[:n], a.windows[n:]
	return run, bytes
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
			failed := make(chan []result[T], 1)
			failed <- []result[T]{{err: p.err}}
			a.queue = append(a.queue, inWork[T]{done: failed})
			return false
		}
		a.windows = p.windows
	}
	return true
}

// take waits for the first window in work.
func (a *readAhead[T]) take() result[T] {
	if len(a.read) == 0 {
		a.read = a.takeRun()
	}
	r := a.read[0]
	a.read = a.read[1:]
	return r
}

func (a *readAhead[T]) takeRun() []result[T] {
	first := a.queue[0]
	a.queue = a.queue[1:]
	a.bytes -= first.bytes
	run := <-first.done
	bytes := int64(0)
	for _, r := range run {
		bytes += r.bytes
	}
	if bytes > 0 && first.bytes > 0 {
		a.scale = max(1, (a.scale+float64(bytes)/first.bytes)/2)
		a.proven = true
	}
	return run
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
