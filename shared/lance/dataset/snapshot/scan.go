package snapshot

import (
	"context"
	"iter"
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/deletion"
	"tiltyard/shared/lance/rowset"
)

// ScanOptions says what a scan returns. The zero value is all columns of all rows.
type ScanOptions struct {
	// Columns are names of columns, of the row columns (RowID …), and paths of members of
	// structs ("a.b"), in the order of the answer. Of members no more is read than of
	// columns; their values are null where a struct around them is. Nil is all columns of
	// the table.
	Columns []string
	// Where keeps some of the rows; nil keeps all.
	Where *Where
	// Offset and Limit cut the rows that Where keeps: Offset are skipped, then at most
	// Limit returned. Zero or less is no limit.
	Offset, Limit int64
	// Only, if not nil, says of which fragments rows are read. It goes with a Where or a
	// Map, and not with Offset and Limit, which count the rows of the others too.
	Only func(fragment uint64) bool
	// Span, if not nil, says which rows of a fragment are read: from one number to before
	// another. It goes without Offset and Limit, as Only does.
	Span func(fragment uint64) (from, to int64)
	// Among, if not nil, narrows down which rows Where is asked about. It is called once,
	// before reading begins, and may return nil.
	Among func(context.Context) (*Candidates, error)
	// Rows, if not nil, are the rows to read, none of which is deleted. It goes without
	// the other options that choose rows.
	Rows *rowset.Set
}

// A Where decides which rows a scan returns.
type Where struct {
	// Columns are what Select reads, as in ScanOptions.
	Columns []string
	// Select returns the positions within the batch, ascending, of the rows to keep, of
	// those among, which has one bit for each row from the lowest of the first word on; nil
	// is all. It is called from several goroutines at a time.
	Select func(ctx context.Context, batch arrow.RecordBatch, among []uint64) ([]int32, error)
}

// Candidates are the only rows of some fragments that a Where can keep. Deleted ones may be among
// them.
type Candidates struct {
	Covers func(fragment uint64) bool // whether there are no others in a fragment
	Rows   *rowset.Set                // of fragments that are covered
	Sure   bool                       // Where keeps all of them
}

// of returns the candidates of a fragment, and whether there are no others in it. It is for any
// Candidates, also nil, which covers nothing.
func (c *Candidates) of(fragment uint64) (*deletion.Vector, bool) {
	if c == nil || !c.Covers(fragment) {
		return nil, false
	}
	return c.Rows.Of(fragment), true
}

// Scan returns the rows in their order in the table as batches, which are never empty.
// Reading begins at once and runs ahead on all cores; it ends with the context, or when
// the caller breaks off. The scan holds memory of the context's share for a batch until the
// caller asks for the next one: who keeps batches takes memory for them.
func (s *Snapshot) Scan(ctx context.Context, opts ScanOptions) (*arrow.Schema, iter.Seq2[arrow.RecordBatch, error], error) {
	p, plan, skip, err := s.planScan(ctx, opts)
	if err != nil {
		return nil, nil, err
	}
	return p.schema, cut(s.readPlan(ctx, p, plan), skip, opts.Limit), nil
}

// readPlan returns the rows of what is planned.
func (s *Snapshot) readPlan(ctx context.Context, p *Projection, plan *plan) iter.Seq2[arrow.RecordBatch, error] {
	return mapWindows(ctx, plan, s.reader(p, plan.choice), func(_ context.Context, batch arrow.RecordBatch) (arrow.RecordBatch, error) {
		return batch, nil
	})
}

// reader returns a function that reads the chosen rows of windows.
func (s *Snapshot) reader(p *Projection, chosen choice) readFunc {
	return func(ctx context.Context, w window) (arrow.RecordBatch, error) { return s.readWindow(ctx, w, p, chosen) }
}

// scanFragments returns all rows of some fragments, in the order of these.
func (s *Snapshot) scanFragments(ctx context.Context, p *Projection, fragments []*fragment.Fragment) (iter.Seq2[arrow.RecordBatch, error], error) {
	pl := &plan{snapshot: s, fields: p.fields(), fragments: fragments, to: math.MaxInt64, transient: true}
	if err := pl.begin(ctx); err != nil {
		return nil, err
	}
	return s.readPlan(ctx, p, pl), nil
}

// Map is Scan that calls f on each batch where it was read, on all cores, and yields its
// results in the order of the rows. Offset and Limit must leave whole what f sees: they
// are not cut out of a batch. What f takes of the memory share of its context is held until
// the caller asks for the next result.
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
