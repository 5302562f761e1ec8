package snapshot

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
)

// A scan reads and decodes windows ahead of its consumer. Windows have about windowBytes, and those
// in flight at most aheadBytes in sum. The expansion of compressed text is unknown before the first
// window is decoded, so a scan starts with maxUnproven windows.
//
// Each run of windows charges the context's memory budget with its estimate before it is read.
// After decoding, the charge is corrected to the real size; it ends when the consumer requests the
// next batch. A run other than the first starts only if memory is free at once. If the first window
// exceeds the budget, it is read again in halves, down to single rows. A scan therefore needs no
// more memory than its widest row.
//
// Remote storage has a long latency. More windows start there, and all at once if every column has
// a fixed width.
const (
	windowBytes = 8 << 20
	aheadBytes  = 32 << 20
	farAhead    = 64 << 20
	maxAhead    = 64
	maxUnproven = 4
)

// readFactor is the ratio of the memory for reading a window to its decoded size. The encoded bytes
// are held as well.
const readFactor = 2

// Small windows on local storage are read one after the other, up to these bounds, because starting
// a goroutine for each takes longer than reading it.
const (
	runWindows = 32
	runBytes   = 1 << 20
)

// mapWindows reads several windows at a time, calls f with each batch and yields the results in
// order. It skips empty batches. If f fails for lack of memory, it is called again with fewer rows.
// The first windows start before mapWindows returns. Memory that f takes from its context is held
// until the consumer requests the next result.
func mapWindows[T any](ctx context.Context, plan *plan, read readFunc, f func(context.Context, arrow.RecordBatch) (T, error)) iter.Seq2[T, error] {
	share := memory.FromContext(ctx)
	ctx, cancel := context.WithCancel(ctx)
	ahead := readAhead[T]{
		share: share, plan: plan, windows: plan.first, more: plan.rest(ctx), readWindow: read, f: f, scale: 1,
		near: objectstore.Near(plan.snapshot.place.Store),
	}
	ahead.proven = !ahead.near && plan.isFixed()
	ahead.fill(ctx)
	return func(yield func(T, error) bool) {
		defer func() {
			cancel()
			ahead.close()
		}()
		for ; ahead.busy(); ahead.fill(ctx) {
			r := ahead.take(ctx)
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

// A readFunc reads the wanted rows of a window.
type readFunc func(context.Context, window) (arrow.RecordBatch, error)

// readAhead holds the windows of a scan in order, from those being read to those not planned yet.
type readAhead[T any] struct {
	share      *memory.Share
	plan       *plan
	alone      []window       // read one at a time before all others, for lack of memory
	windows    []window       // not started
	more       <-chan planned // the windows after those; nil: none
	readWindow readFunc
	f          func(context.Context, arrow.RecordBatch) (T, error)
	near       bool
	current    *memory.Share // memory of the result read last
	read       []result[T]   // decoded results not yet consumed
	queue      []inWork[T]
	bytes      float64 // estimated bytes of the windows in flight
	scale      float64 // ratio of real to estimated sizes so far
	proven     bool    // a size has been measured, or is fixed
}

// inWork is a run of windows in flight: one, or several small ones.
type inWork[T any] struct {
	windows []window
	part    *memory.Share
	done    chan []result[T]
	mine    bool // the consumer reads it itself on demand
	bytes   float64
}

type result[T any] struct {
	value   T
	bytes   int64 // real size of the batch
	err     error
	refused bool // memory was refused for reading the window or for f
}

// busy reports whether any window is unfinished.
func (a *readAhead[T]) busy() bool { return len(a.alone)+len(a.read)+len(a.queue) > 0 }

// fill starts windows while memory allows. It also releases the memory of the last result, which
// the consumer is done with.
func (a *readAhead[T]) fill(ctx context.Context) {
	if len(a.read) == 0 {
		a.current.Close()
		a.current = nil
	}
	for a.room() && a.refill() {
		n, bytes := a.run()
		part, err := a.pay(ctx, bytes)
		if part == nil && err == nil && a.share != nil {
			return
		}
		w := inWork[T]{windows: a.windows[:n], part: part, done: make(chan []result[T], 1), bytes: float64(bytes)}
		a.windows = a.windows[n:]
		w.mine = err == nil && a.near && a.isLast()
		a.queue = append(a.queue, w)
		a.bytes += w.bytes
		switch {
		case err != nil:
			w.done <- []result[T]{{err: err, refused: true}}
		case !w.mine:
			a.inWork().Add(1)
			go a.work(ctx, w)
		}
	}
}

// isLast reports whether the next run is the only work left. On local storage the consumer then
// reads it itself, because a goroutine would gain nothing.
func (a *readAhead[T]) isLast() bool {
	return len(a.windows) == 0 && len(a.queue) == 0 && a.more == nil
}

// work reads a run of windows. The caller has counted it in inWork.
func (a *readAhead[T]) work(ctx context.Context, w inWork[T]) {
	defer a.inWork().Add(-1)
	defer lance.Contain(func(err error) { w.done <- []result[T]{{err: err}} })
	results := make([]result[T], 0, len(w.windows))
	for _, window := range w.windows {
		r := a.one(ctx, w.part, window)
		results = append(results, r)
		if r.err != nil {
			break
		}
	}
	w.part.Settle(w.part.Held())
	w.done <- results
}

// pay reserves the expected memory of windows with this many bytes. It blocks only if no other
// window is in flight; otherwise it returns no reservation if memory is short.
func (a *readAhead[T]) pay(ctx context.Context, bytes int64) (*memory.Share, error) {
	bytes = int64(readFactor * a.scale * float64(bytes))
	if !a.busy() {
		return a.share.Part(ctx, bytes)
	}
	part, _ := a.share.TryPart(bytes)
	return part, nil
}

// one reads a window and calls f.
func (a *readAhead[T]) one(ctx context.Context, part *memory.Share, w window) (r result[T]) {
	if part != nil {
		ctx = memory.WithShare(ctx, part)
	}
	batch, err := a.readWindow(ctx, w)
	if err == nil {
		r.bytes = sizeOf(batch)
		err = part.Take(ctx, r.bytes)
	}
	if err == nil {
		r.value, err = a.f(ctx, batch)
	}
	if err != nil {
		var refused *memory.Error
		r.err, r.refused = err, errors.As(err, &refused)
		return r
	}
	if _, same := any(r.value).(arrow.RecordBatch); !same {
		part.Give(r.bytes)
	}
	return r
}

// run returns how many windows the next goroutine reads, and their bytes.
func (a *readAhead[T]) run() (n int, bytes int64) {
	n = 1
	bytes = a.windows[0].bytes
	for a.near && n < min(len(a.windows), runWindows) && bytes+a.windows[n].bytes <= runBytes {
		bytes += a.windows[n].bytes
		n++
	}
	return n, bytes
}

// room reports whether another run may start.
func (a *readAhead[T]) room() bool {
	switch n := len(a.queue); {
	case n > 0 && a.near && a.isCrowded():
		return false
	case n < 2:
		return true
	case !a.proven && n >= maxUnproven:
		return false
	default:
		most := float64(farAhead)
		if a.near {
			most = aheadBytes
		}
		return n < maxAhead && a.bytes*a.scale < most
	}
}

// isCrowded reports whether the windows in flight of all scans keep the processors busy. On local
// storage more of them finish no sooner, and every request waits longer for the processor, even to
// notice its timeout.
func (a *readAhead[T]) isCrowded() bool {
	return int(a.inWork().Load()) >= windowsPerProcessor*runtime.GOMAXPROCS(0)
}

// inWork counts the runs that all scans of the process are reading.
func (a *readAhead[T]) inWork() *atomic.Int32 { return &a.plan.snapshot.place.windows }

// windowsPerProcessor is the number of runs that keeps a processor busy.
const windowsPerProcessor = 2

// refill reports whether a window is left to start. It waits for the planner only if no window is
// in flight.
func (a *readAhead[T]) refill() bool {
	for len(a.windows) == 0 {
		var p planned
		var ok bool
		switch {
		case a.more == nil:
			return false
		case len(a.queue) == 0:
			p, ok = <-a.more
		default:
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

// take waits for the first result in order.
func (a *readAhead[T]) take(ctx context.Context) result[T] {
	if len(a.read) == 0 {
		a.read = a.takeRun(ctx)
	}
	r := a.read[0]
	a.read = a.read[1:]
	return r
}

// takeRun waits for the first run. If a window in it was refused memory, that one and the rest are
// read again one at a time.
func (a *readAhead[T]) takeRun(ctx context.Context) []result[T] {
	if len(a.alone) > 0 {
		return []result[T]{a.takeAlone(ctx)}
	}
	first := a.queue[0]
	a.queue = a.queue[1:]
	a.bytes -= first.bytes
	if first.mine {
		a.inWork().Add(1)
		a.work(ctx, first)
	}
	run := <-first.done
	bytes := int64(0)
	for _, r := range run {
		bytes += r.bytes
	}
	// Later runs are estimated by the sizes of those before, averaged to damp outliers.
	if bytes > 0 && first.bytes > 0 {
		a.scale = max(1, (a.scale+float64(bytes)/first.bytes)/2)
		a.proven = true
	}
	a.current = first.part
	// A refused window and those after it are read again one at a time.
	if last := len(run) - 1; run[last].refused {
		a.alone, run = slices.Clone(first.windows[last:]), run[:last]
		if last == 0 {
			first.part.Close()
			return []result[T]{a.takeAlone(ctx)}
		}
	}
	return run
}

// takeAlone reads the first window of alone. If memory does not suffice, it splits the window, down
// to single rows.
func (a *readAhead[T]) takeAlone(ctx context.Context) result[T] {
	for {
		w := a.alone[0]
		part, err := a.share.Part(ctx, min(w.bytes, windowBytes))
		r := result[T]{err: err, refused: err != nil}
		if err == nil {
			r = a.one(ctx, part, w)
			part.Settle(part.Held())
		}
		var refused *memory.Error
		if r.err == nil || !r.refused || !errors.As(r.err, &refused) || refused.Busy || w.to-w.from == 1 {
			if r.refused && w.to-w.from == 1 {
				r.err = a.plan.tooWide(ctx, w, r.err)
			}
			a.alone, a.current = a.alone[1:], part
			return r
		}
		part.Close()
		halves, err := w.halves(ctx)
		if err != nil {
			return result[T]{err: err}
		}
		a.alone = append(halves, a.alone[1:]...)
	}
}

// close abandons the windows in flight.
func (a *readAhead[T]) close() {
	a.current.Close()
	for _, w := range a.queue {
		w.part.Close()
	}
}

// sizeOf returns the bytes of a batch's buffers.
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
