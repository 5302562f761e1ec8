package snapshot

import (
	"context"
	"iter"
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/internal/deletion"
	"tiltyard/shared/lance/rowset"
)

// ScanOptions selects the columns and rows of a scan. The zero value returns all.
type ScanOptions struct {
	// Columns names columns, row columns (RowID …) and struct members ("a.b"), in result order.
	// Only the named member of a struct is read; it is null where an enclosing struct is null. Nil
	// means all columns of the table.
	Columns []string
	// Where filters the rows; nil keeps all.
	Where *Where
	// Offset and Limit apply to the filtered rows: Offset rows are skipped, then at most Limit
	// returned. Zero or less means no limit.
	Offset, Limit int64
	// Only selects the fragments to read; nil means all. It works with Where and Map, not with
	// Offset and Limit, which count rows of all fragments.
	Only func(fragment uint64) bool
	// Span selects rows [from, to) of each fragment; nil means all. Like Only, it does not work
	// with Offset and Limit.
	Span func(fragment uint64) (from, to int64)
	// Among narrows the rows for which Where is evaluated, for example by an index. It is called
	// once before the scan starts and may return nil.
	Among func(context.Context) (*Candidates, error)
	// Rows are the rows to read, all live. It excludes the other options that select rows.
	Rows *rowset.Set
}

// A Where is a row filter.
type Where struct {
	// Columns are the columns that Select reads, as in ScanOptions.
	Columns []string
	// Select returns the positions in the batch of the rows to keep, ascending. among is a bitmap
	// of the rows to consider, lowest bit of the first word first; nil means all. Select is called
	// concurrently.
	Select func(ctx context.Context, batch arrow.RecordBatch, among []uint64) ([]int32, error)
}

// Candidates bounds the rows that a Where can keep in some fragments. It may contain deleted rows.
type Candidates struct {
	Covers func(fragment uint64) bool // whether Rows is complete for the fragment
	All    bool                       // Covers accepts all fragments with live rows
	Rows   *rowset.Set                // candidates in the covered fragments
	Sure   bool                       // Where keeps every candidate
}

// of returns the candidates of a fragment and whether they are complete. Nil Candidates cover
// nothing.
func (c *Candidates) of(fragment uint64) (*deletion.Vector, bool) {
	if c == nil || !c.Covers(fragment) {
		return nil, false
	}
	return c.Rows.Of(fragment), true
}

// Scan returns the rows in table order, as batches that are never empty. Reading starts at once and
// proceeds ahead on all cores, until the context ends or the consumer stops. A batch is charged to
// the context's memory budget until the next one is requested; a caller that keeps batches must
// reserve memory for them.
func (s *Snapshot) Scan(ctx context.Context, opts ScanOptions) (*arrow.Schema, iter.Seq2[arrow.RecordBatch, error], error) {
	p, plan, skip, err := s.planScan(ctx, opts)
	if err != nil {
		return nil, nil, err
	}
	return p.schema, cut(s.readPlan(ctx, p, plan), skip, opts.Limit), nil
}

// readPlan returns the rows of a plan.
func (s *Snapshot) readPlan(ctx context.Context, p *Projection, plan *plan) iter.Seq2[arrow.RecordBatch, error] {
	return mapWindows(ctx, plan, s.reader(p, plan.choice), func(_ context.Context, batch arrow.RecordBatch) (arrow.RecordBatch, error) {
		return batch, nil
	})
}

// reader returns a function that reads the chosen rows of windows.
func (s *Snapshot) reader(p *Projection, chosen choice) readFunc {
	return func(ctx context.Context, w window) (arrow.RecordBatch, error) { return s.readWindow(ctx, w, p, chosen) }
}

// scanFragments returns all live rows of some fragments, in the order given.
func (s *Snapshot) scanFragments(ctx context.Context, p *Projection, fragments []*fragment.Fragment) (iter.Seq2[arrow.RecordBatch, error], error) {
	pl := &plan{snapshot: s, fields: p.fields(), fragments: fragments, to: math.MaxInt64, transient: true}
	if err := pl.begin(ctx); err != nil {
		return nil, err
	}
	return s.readPlan(ctx, p, pl), nil
}

// Map calls f with each batch of a scan on all cores and yields the results in row order. Offset
// and Limit must not cut a batch, because f sees whole batches. Memory that f takes from its
// context is held until the next result is requested.
func Map[T any](ctx context.Context, s *Snapshot, opts ScanOptions, f func(context.Context, arrow.RecordBatch) (T, error)) (iter.Seq2[T, error], error) {
	p, plan, _, err := s.planScan(ctx, opts)
	if err != nil {
		return nil, err
	}
	return mapWindows(ctx, plan, s.reader(p, plan.choice), f), nil
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
					end = skip + min(n-skip, limit)
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
