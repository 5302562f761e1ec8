package engine

import (
	"context"
	"iter"
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine/condition"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/protocol"
)

// Query answers a query with a stream of rows: the rows nearest to a vector, or else all rows, in
// the requested order or that of the table. In both cases only rows that pass the filter are
// returned.
func (t *Table) Query(ctx context.Context, req *protocol.QueryTableRequest) (*protocol.Rows, error) {
	return Read(ctx, t, req.Version, func(ctx context.Context, d *dataset.Dataset) (*protocol.Rows, error) {
		answer, err := t.plan(ctx, d, req)
		if err != nil {
			return nil, err
		}
		return t.rows(ctx, d, answer)
	})
}

// plan resolves a query of the table, or of the view that is seen of it.
func (t *Table) plan(ctx context.Context, d *dataset.Dataset, req *protocol.QueryTableRequest) (query.Answer, error) {
	if err := checkLog(d, req.LogUse); err != nil {
		return nil, err
	}
	seen, err := condition.Seen(ctx, d, t.view)
	if err != nil {
		return nil, err
	}
	return t.engine.planner.Plan(ctx, seen, req)
}

// Columns returns the columns that a query can ask for, and the version of the table that has them.
func (t *Table) Columns(ctx context.Context) (columns *arrow.Schema, version int64, err error) {
	err = Do(ctx, t, nil, func(ctx context.Context, d *dataset.Dataset) error {
		seen, err := condition.Seen(ctx, d, t.view)
		if err == nil {
			columns, version = schema.TextSchema(seen.Columns()), int64(d.Version())
		}
		return err
	})
	return columns, version, err
}

// rows starts an answer in the form that clients get.
func (t *Table) rows(ctx context.Context, d *dataset.Dataset, answer query.Answer) (*protocol.Rows, error) {
	rows, err := answer.Rows(ctx)
	if err != nil {
		return nil, err
	}
	rows.Version = int64(d.Version())
	rows.Batches = t.Reading(ctx, d, rows.Batches)
	return rows, nil
}

// Reading turns errors that occur while rows of a version are read into protocol errors, which name the table.
func (t *Table) Reading(ctx context.Context, d *dataset.Dataset, batches iter.Seq2[arrow.RecordBatch, error]) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for batch, err := range batches {
			if !yield(batch, t.Failure(ctx, d, err)) {
				return
			}
		}
	}
}

// Failure is Reading for one error; nil stays nil.
func (t *Table) Failure(ctx context.Context, d *dataset.Dataset, err error) error {
	return t.Translate(t.cleanedUp(ctx, d, err))
}

// Count returns the number of rows, or of those for which a predicate is true.
func (t *Table) Count(ctx context.Context, req *protocol.CountTableRowsRequest) (*protocol.CountTableRowsResponse, error) {
	return Read(ctx, t, req.Version, func(ctx context.Context, d *dataset.Dataset) (*protocol.CountTableRowsResponse, error) {
		if err := checkLog(d, req.LogUse); err != nil {
			return nil, err
		}
		seen, err := condition.Seen(ctx, d, t.view)
		if err != nil {
			return nil, err
		}
		limit := int64(math.MaxInt64)
		if seen.View != nil && seen.View.Query.Limit != nil {
			if req.Predicate != "" {
				return nil, protocol.Errorf(protocol.InvalidInput, "predicate: the view has a LIMIT, so its rows cannot be filtered")
			}
			limit = int64(*seen.View.Query.Limit)
		}
		count, err := t.count(ctx, seen, req.Predicate)
		return &protocol.CountTableRowsResponse{Version: int64(d.Version()), Count: min(count, limit)}, err
	})
}

func (t *Table) count(ctx context.Context, seen condition.Relation, predicate string) (int64, error) {
	filter, err := condition.New(ctx, "predicate", predicate, seen, t.engine.planner.Policy)
	if err != nil {
		return 0, err
	}
	if filter.Where == nil {
		return seen.CountRows(), nil
	}
	_, batches, err := seen.Scan(ctx, filter.Options([]string{}))
	if err != nil {
		return 0, err
	}
	rows := int64(0)
	for batch, err := range batches {
		if err != nil {
			return 0, err
		}
		rows += batch.NumRows()
	}
	return rows, nil
}
