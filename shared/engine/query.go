package engine

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine/condition"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
)

// Query answers a query with a stream of rows: the rows nearest to a vector, or else all rows, in
// the requested order or that of the table. In both cases only rows that pass the filter are
// returned.
func (t *Table) Query(ctx context.Context, req *protocol.QueryTableRequest) (*protocol.Rows, error) {
	return Read(ctx, t, req.Version, func(ctx context.Context, d *dataset.Dataset) (*protocol.Rows, error) {
		answer, err := t.engine.planner.Plan(ctx, d, req)
		if err != nil {
			return nil, err
		}
		return t.rows(ctx, d, answer)
	})
}

// rows starts an answer in the form that clients get.
func (t *Table) rows(ctx context.Context, d *dataset.Dataset, answer query.Answer) (*protocol.Rows, error) {
	rows, err := answer.Rows(ctx)
	if err != nil {
		return nil, err
	}
	rows.Version = int64(d.Version())
	rows.Batches = t.translated(ctx, d, rows.Batches)
	return rows, nil
}

// translated turns errors that occur while rows are read into protocol errors.
func (t *Table) translated(ctx context.Context, d *dataset.Dataset, batches iter.Seq2[arrow.RecordBatch, error]) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for batch, err := range batches {
			if !yield(batch, t.translate(t.cleanedUp(ctx, d, err))) {
				return
			}
		}
	}
}

// Count returns the number of rows, or of those for which a predicate is true.
func (t *Table) Count(ctx context.Context, version *int64, predicate string) (*protocol.CountTableRowsResponse, error) {
	return Read(ctx, t, version, func(ctx context.Context, d *dataset.Dataset) (*protocol.CountTableRowsResponse, error) {
		answer := &protocol.CountTableRowsResponse{Version: int64(d.Version()), Count: d.CountRows()}
		filter, err := condition.New(ctx, "predicate", predicate, d, t.engine.planner.Policy)
		if err != nil || filter.Where == nil {
			return answer, err
		}
		_, batches, err := d.Scan(ctx, filter.Options([]string{}))
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
