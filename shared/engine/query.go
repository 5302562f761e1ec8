package engine

import (
	"context"
	"iter"
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
)

// An answer is a query that was resolved against a version of a table.
type answer interface {
	// rows begins to answer. The first rows are at hand, or were looked for, when it returns.
	rows(ctx context.Context) (*protocol.Rows, error)
	// plan tells how the rows are made and, of an answer that was ranged over, what each
	// step has done.
	plan() *step
}

// answer resolves a query. Nothing is read yet.
func (e *Engine) answer(ctx context.Context, d *dataset.Dataset, req *protocol.QueryTableRequest) (answer, error) {
	switch {
	case req.FullTextQuery != nil:
		return e.newTextSearch(ctx, d, req)
	case !req.Vector.Empty():
		return e.newSearch(ctx, d, req)
	}
	return newScan(ctx, d, req)
}

// Query answers a query with a stream of rows: those nearest to a vector, or else all,
// in the order asked for or that of the table; in both cases only where the filter is true.
func (t *Table) Query(ctx context.Context, req *protocol.QueryTableRequest) (*protocol.Rows, error) {
	return Read(ctx, t, req.Version, func(ctx context.Context, d *dataset.Dataset) (*protocol.Rows, error) {
		answer, err := t.engine.answer(ctx, d, req)
		if err != nil {
			return nil, err
		}
		return t.rows(ctx, d, answer)
	})
}

// rows begins to answer, as clients get it.
func (t *Table) rows(ctx context.Context, d *dataset.Dataset, answer answer) (*protocol.Rows, error) {
	rows, err := answer.rows(ctx)
	if err != nil {
		return nil, err
	}
	if err := withOneDictionary(ctx, rows); err != nil {
		return nil, err
	}
	rows.Version = int64(d.Version())
	rows.Batches = t.translated(ctx, d, rows.Batches)
	return rows, nil
}

// translated gives errors that come up while rows of a version are read their name in
// the protocol.
func (t *Table) translated(ctx context.Context, d *dataset.Dataset, batches iter.Seq2[arrow.RecordBatch, error]) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for batch, err := range batches {
			if !yield(batch, t.translate(t.cleanedUp(ctx, d, err))) {
				return
			}
		}
	}
}

// Count tells how many rows there are, or for how many a predicate is true.
func (t *Table) Count(ctx context.Context, version *int64, predicate string) (*protocol.CountTableRowsResponse, error) {
	return Read(ctx, t, version, func(ctx context.Context, d *dataset.Dataset) (*protocol.CountTableRowsResponse, error) {
		answer := &protocol.CountTableRowsResponse{Version: int64(d.Version()), Count: d.CountRows()}
		filter, err := where(ctx, "predicate", predicate, d)
		if err != nil || filter == nil {
			return answer, err
		}
		_, batches, err := d.Scan(ctx, dataset.ScanOptions{Columns: []string{}, Where: filter})
		if err != nil {
			return nil, err
		}
		answer.Count = 0
		for batch, err := range batches {
			if err != nil {
				return nil, err
			}
			answer.Count += batch.NumRows()
		}
		return answer, nil
	})
}

// saturating adds counts of which each may be the largest that there is.
func saturating(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
