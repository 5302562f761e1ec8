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
	"tiltyard/shared/memory"
	"tiltyard/shared/objectstore"
)

// A scan reads and decodes windows ahead of whoever takes its batches: about windowBytes
// each, so many that their sum stays under aheadBytes. How much text expands is not known
// before some has been decoded, so it begins with few.
//
// Each run of windows is a part of the share of the context. It pays beforehand for what it
// is expected to take, settles on what is left when it has been decoded, and is closed when
// the consumer asks for the next. A run ahead of the first is begun only when there is
// memory at once. Where a window takes more than there is, it is read again when it is the
// first, in pieces; so a scan needs no more than its widest row.
//
// Storage that is far takes a round trip to answer, so there more windows are begun, and at once where all
// values have the same width.
const (
	windowBytes = 8 << 20
	aheadBytes  = 32 << 20
	farAhead    = 64 << 20
	maxAhead    = 64
	maxUnproven = 4
)

// readFactor is by how much the memory for reading a window exceeds what is decoded: there
// are also the bytes that it is decoded from.
const readFactor = 2

// Small windows of storage that is near are read one after the other, up to so many and so
// large: a goroutine for each takes longer than to read it.
const (
	runWindows = 32
	runBytes   = 1 << 20
)

// mapWindows reads windows, several at a time, calls f on the batches, and yields the
// results in order. Where f is refused memory, it is called again with fewer rows. Empty batches are left out. The first windows are begun before it
// returns. What f takes of the share of its context is held until the consumer asks for the
// next result.
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

// A readFunc reads the rows that are wanted of a window.
type readFunc func(context.Context, window) (arrow.RecordBatch, error)

// readAhead is the windows of a scan that are in work, in order.
type readAhead[T any] struct {
	share      *memory.Share
	plan       *plan
	alone      []window       // to be read one at a time, before all others
	windows    []window       // not begun
	more       <-chan planned // those after them; nil: none
	readWindow readFunc
	f          func(context.Context, arrow.RecordBatch) (T, error)
	near       bool
	current    *memory.Share // of what was read last
	read       []result[T]   // that were in work
	queue      []inWork[T]
	bytes      float64 // of the windows in work, as estimated
	scale      float64 // how much more windows turned out to hold
	proven     bool    // whether one did
}

// inWork is a run of windows: one, or some small ones.
type inWork[T any] struct {
	windows []window
	part    *memory.Share
	done    chan []result[T]
	mine    bool // the consumer reads it, when it asks for it
	bytes   float64
}

type result[T any] struct {
	value   T
	bytes   int64 // what the batch really occupied
	err     error
	refused bool // the window was not read, or not worked on, because of the memory that it takes
}

// busy reports whether there are windows in work.
func (a *readAhead[T]) busy() bool { return len(a.alone)+len(a.read)+len(a.queue) > 0 }

// fill begins windows while memory allows. What was read before the last one was asked for
// is done with.
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

// isLast reports whether all windows of the scan have been begun, and none is in work. Of storage that
// is near, there is nothing to do beside the last ones, so that a goroutine for them would be in vain.
func (a *readAhead[T]) isLast() bool {
	return len(a.windows) == 0 && len(a.queue) == 0 && a.more == nil
}

// work reads a run of windows, which inWork counts already.
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

// pay takes the memory that windows of so many bytes are expected to take. It waits only
// when no others are in work; else there is no part when there is no memory.
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

// run returns how many windows one goroutine reads next.
func (a *readAhead[T]) run() (n int, bytes int64) {
	n = 1
	bytes = a.windows[0].bytes
	for a.near && n < min(len(a.windows), runWindows) && bytes+a.windows[n].bytes <= runBytes {
		bytes += a.windows[n].bytes
		n++
	}
	return n, bytes
}

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

// isCrowded says whether the windows in work of all scans keep the processors busy. Of storage
// that is near, more of them at once are read no sooner, and each waits longer for its turn:
// a request whose time is over, too, must have its turn to see that.
func (a *readAhead[T]) isCrowded() bool {
	return int(a.inWork().Load()) >= windowsPerProcessor*runtime.GOMAXPROCS(0)
}

// inWork counts the runs of windows that all scans are reading.
func (a *readAhead[T]) inWork() *atomic.Int32 { return &a.plan.snapshot.place.windows }

// windowsPerProcessor is how many windows in work keep a processor busy.
const windowsPerProcessor = 2

// refill says whether there are windows to begin. It waits for the planning of more only
// when none are in work.
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

// take waits for the first window in work.
func (a *readAhead[T]) take(ctx context.Context) result[T] {
	if len(a.read) == 0 {
		a.read = a.takeRun(ctx)
	}
	r := a.read[0]
	a.read = a.read[1:]
	return r
}

// takeRun waits for the first windows in work. From the one on that was refused memory, they
// are read alone.
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
	if bytes > 0 && first.bytes > 0 {
		a.scale = max(1, (a.scale+float64(bytes)/first.bytes)/2)
		a.proven = true
	}
	a.current = first.part
	if last := len(run) - 1; run[last].refused {
		a.alone, run = slices.Clone(first.windows[last:]), run[:last]
		if last == 0 {
			first.part.Close()
			return []result[T]{a.takeAlone(ctx)}
		}
	}
	return run
}

// takeAlone reads the first of the windows that are read alone, in halves when there is too
// little memory for it, down to single rows.
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

// close gives up what is in work.
func (a *readAhead[T]) close() {
	a.current.Close()
	for _, w := range a.queue {
		w.part.Close()
	}
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
