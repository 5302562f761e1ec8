package dataset

import (
	"context"
	"fmt"
	"iter"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
)

// ScanOptions says what a scan returns. The zero value is all columns of all rows.
type ScanOptions struct {
	// Columns are names of top-level columns and of the row columns (RowID …), in the
	// order of the answer. Nil is all columns of the table.
	Columns []string
	// Where keeps some of the rows; nil keeps all.
	Where *Where
	// Offset and Limit cut the rows that Where keeps: Offset are skipped, then at most
	// Limit returned. Zero or less is no limit.
	Offset, Limit int64
}

// A Where decides which rows a scan returns.
type Where struct {
	// Columns are what Select reads, as in ScanOptions.
	Columns []string
	// Select returns the positions within the batch, ascending, of the rows to keep. It
	// is called from several goroutines at a time.
	Select func(arrow.RecordBatch) ([]int32, error)
}

// A scan reads and decodes windows ahead of whoever takes its batches: about windowBytes
// each, so many that their sum stays under aheadBytes. That bounds its memory.
const (
	windowBytes = 8 << 20
	aheadBytes  = 48 << 20
	maxAhead    = 64
)

// A window is a run of physical rows of one fragment: what is read in one go.
type window struct {
	fragment *fragment
	from, to int64
	offset   int64 // rows of the table before it that are not deleted
	live     int64 // its own rows that are not deleted
	bytes    int64 // estimate of its decoded size
}

// Scan returns the rows in their order in the table as batches, which are never empty.
// Reading begins at once and runs ahead on all cores; it ends with the context, or when
// the caller breaks off.
func (d *Dataset) Scan(ctx context.Context, opts ScanOptions) (*arrow.Schema, iter.Seq2[arrow.RecordBatch, error], error) {
	p, windows, skip, err := d.planScan(ctx, opts)
	if err != nil {
		return nil, nil, err
	}
	batches := mapWindows(ctx, windows, func(ctx context.Context, w window) (arrow.RecordBatch, error) {
		return d.readWindow(ctx, w, p, opts.Where)
	})
	return p.schema, cut(batches, skip, opts.Limit), nil
}

// Map is Scan that calls f on each batch where it was read, on all cores, and yields its
// results in the order of the rows. Offset and Limit must leave whole what f sees: they
// are not cut out of a batch.
func Map[T any](ctx context.Context, d *Dataset, opts ScanOptions, f func(context.Context, arrow.RecordBatch) (T, error)) (iter.Seq2[T, error], error) {
	p, windows, _, err := d.planScan(ctx, opts)
	if err != nil {
		return nil, err
	}
	return mapWindows(ctx, windows, func(ctx context.Context, w window) (T, error) {
		batch, err := d.readWindow(ctx, w, p, opts.Where)
		if err != nil {
			var none T
			return none, err
		}
		return f(ctx, batch)
	}), nil
}

// planScan returns the windows to read and how many of their rows to skip.
func (d *Dataset) planScan(ctx context.Context, opts ScanOptions) (p *projection, windows []window, skip int64, err error) {
	if p, err = d.projection(opts.Columns); err != nil {
		return nil, nil, 0, err
	}
	planned := p
	if opts.Where != nil {
		tested, err := d.projection(opts.Where.Columns)
		if err != nil {
			return nil, nil, 0, err
		}
		planned = &projection{columns: append(append([]projected(nil), p.columns...), tested.columns...)}
	}
	if windows, err = d.windows(ctx, planned); err != nil || opts.Where != nil {
		return p, windows, opts.Offset, err
	}
	windows = trim(windows, opts.Offset, opts.Limit)
	if len(windows) > 0 {
		skip = max(opts.Offset-windows[0].offset, 0)
	}
	return p, windows, skip, nil
}

// windows cuts the fragments into windows. All windows of a fragment but the last have
// a power of two of rows, so that the same columns are always cut the same way, which
// is what lets decoded columns be found again in the cache.
func (d *Dataset) windows(ctx context.Context, p *projection) ([]window, error) {
	if err := d.loadDeletions(ctx); err != nil {
		return nil, err
	}
	var windows []window
	offset := int64(0)
	for _, f := range d.fragments {
		deleted, err := f.deletions(ctx)
		if err != nil {
			return nil, err
		}
		rowBytes := f.bytesPerRow(p)
		rows := windowRows(rowBytes)
		for from := int64(0); from < f.rows; from += rows {
			w := window{fragment: f, from: from, to: min(from+rows, f.rows), offset: offset}
			w.live = w.to - w.from - deleted.Deleted(w.from, w.to)
			w.bytes = int64(float64(w.to-w.from) * rowBytes)
			offset += w.live
			if w.live > 0 {
				windows = append(windows, w)
			}
		}
	}
	return windows, nil
}

const (
	minWindowRows = 1 << 10
	maxWindowRows = 1 << 18
)

// windowRows returns how many rows fill a window.
func windowRows(bytesPerRow float64) int64 {
	rows := int64(windowBytes / max(bytesPerRow, 1))
	return 1 << (bits.Len64(uint64(min(max(rows, minWindowRows), maxWindowRows))) - 1)
}

// trim leaves out the windows that lie wholly before offset or after offset+limit.
func trim(windows []window, offset, limit int64) []window {
	for len(windows) > 0 && windows[0].offset+windows[0].live <= offset {
		windows = windows[1:]
	}
	for i, w := range windows {
		if limit > 0 && w.offset-offset >= limit {
			return windows[:i]
		}
	}
	return windows
}

// cut skips the first rows of a stream of batches and ends it after limit rows.
func cut(batches iter.Seq2[arrow.RecordBatch, error], skip, limit int64) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		skip, limit := skip, limit
		for batch, err := range batches {
			if err != nil {
				yield(nil, err)
				return
			}
			n := batch.NumRows()
			if skip >= n {
				skip -= n
				continue
			}
			if skip > 0 || (limit > 0 && n-skip > limit) {
				end := n
				if limit > 0 {
					end = min(n, skip+limit)
				}
				batch = batch.NewSlice(skip, end)
				skip = 0
			}
			if !yield(batch, nil) {
				return
			}
			if limit > 0 {
				if limit -= batch.NumRows(); limit == 0 {
					return // so 0 does not come to mean no limit
				}
			}
		}
	}
}

// mapWindows calls f on windows, several at a time, and yields the results in order.
// Empty batches are left out. The first windows are begun before it returns.
func mapWindows[T any](ctx context.Context, windows []window, f func(context.Context, window) (T, error)) iter.Seq2[T, error] {
	ctx, stop := context.WithCancel(ctx)
	ahead := readAhead[T]{ctx: ctx, windows: windows, f: f}
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
	f       func(context.Context, window) (T, error)
	queue   []inWork[T]
	bytes   int64 // of the windows in work
}

type inWork[T any] struct {
	done  chan result[T]
	bytes int64
}

type result[T any] struct {
	value T
	err   error
}

// fill begins windows while memory allows.
func (a *readAhead[T]) fill() {
	for len(a.windows) > 0 && len(a.queue) < maxAhead && (len(a.queue) < 2 || a.bytes < aheadBytes) {
		w := a.windows[0]
		a.windows = a.windows[1:]
		done := make(chan result[T], 1)
		a.queue = append(a.queue, inWork[T]{done, w.bytes})
		a.bytes += w.bytes
		go func() {
			defer contain(func(err error) { done <- result[T]{err: err} })
			value, err := a.f(a.ctx, w)
			done <- result[T]{value, err}
		}()
	}
}

// take waits for the first window in work.
func (a *readAhead[T]) take() result[T] {
	first := a.queue[0]
	a.queue = a.queue[1:]
	a.bytes -= first.bytes
	return <-first.done
}

// contain turns a panic in a goroutine, where nobody else could catch it, into an error.
func contain(report func(error)) {
	if r := recover(); r != nil {
		report(fmt.Errorf("panic while reading: %v", r))
	}
}
