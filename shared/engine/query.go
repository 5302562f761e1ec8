package engine

import (
	"context"
	"iter"
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine/internal/condition"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/engine/wal"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
)

// AsOf chooses the version of a table that a query reads.
type AsOf struct {
	Version *int64 // nil: the newest
	// Log is the request's choice for a write-ahead log, whose rows cannot be read here. If it is nil,
	// a version with a log is refused; if true, so is a version without one; if false, the log is
	// ignored.
	Log *bool
}

// Query returns the rows of a query as a stream: the rows nearest to a vector, the rows that
// contain words, or all rows, in the order of the query or of the table. A filter applies in each
// case.
func (t *Table) Query(ctx context.Context, at AsOf, q *query.Query) (*protocol.Rows, error) {
	return Read(ctx, t, at.Version, func(ctx context.Context, d *dataset.Dataset) (*protocol.Rows, error) {
		answer, err := t.plan(ctx, d, at, q)
		if err != nil {
			return nil, err
		}
		return t.rows(ctx, d, answer)
	})
}

// plan resolves a query of the table, or of its view if it has one.
func (t *Table) plan(ctx context.Context, d *dataset.Dataset, at AsOf, q *query.Query) (query.Answer, error) {
	if err := wal.Check(d, at.Log); err != nil {
		return nil, err
	}
	relation, err := condition.RelationOf(ctx, d, t.view)
	if err != nil {
		return nil, err
	}
	return t.planner().Plan(ctx, relation, q)
}

// Columns returns the columns that queries can name, and the version of the table that has them.
func (t *Table) Columns(ctx context.Context) (columns *arrow.Schema, version int64, err error) {
	err = Do(ctx, t, nil, func(ctx context.Context, d *dataset.Dataset) error {
		relation, err := condition.RelationOf(ctx, d, t.view)
		if err == nil {
			columns, version = schema.TextSchema(relation.Columns()), int64(d.Version())
		}
		return err
	})
	return columns, version, err
}

// rows starts an answer. Its errors will be protocol errors.
func (t *Table) rows(ctx context.Context, d *dataset.Dataset, answer query.Answer) (*protocol.Rows, error) {
	rows, err := answer.Rows(ctx)
	if err != nil {
		return nil, err
	}
	rows.Version = int64(d.Version())
	rows.Batches = t.Reading(ctx, d, rows.Batches)
	return rows, nil
}

// Reading turns errors during the reading of batches into protocol errors with the name of the table.
func (t *Table) Reading(ctx context.Context, d *dataset.Dataset, batches iter.Seq2[arrow.RecordBatch, error]) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for batch, err := range batches {
			if !yield(batch, t.Failure(ctx, d, err)) {
				return
			}
		}
	}
}

// Failure translates one error that occurred while a version was read. It returns nil for nil.
func (t *Table) Failure(ctx context.Context, d *dataset.Dataset, err error) error {
	return t.Translate(t.cleanedUp(ctx, d, err))
}

// A RowCount is a number of rows in a version.
type RowCount struct {
	Rows    int64
	Version int64
}

// Count returns the number of rows that match a predicate. An empty predicate matches all rows.
func (t *Table) Count(ctx context.Context, at AsOf, predicate string) (RowCount, error) {
	return Read(ctx, t, at.Version, func(ctx context.Context, d *dataset.Dataset) (RowCount, error) {
		if err := wal.Check(d, at.Log); err != nil {
			return RowCount{}, err
		}
		relation, err := condition.RelationOf(ctx, d, t.view)
		if err != nil {
			return RowCount{}, err
		}
		limit := int64(math.MaxInt64)
		if relation.View != nil && relation.View.Query.Limit != nil {
			if predicate != "" {
				return RowCount{}, protocol.Errorf(protocol.InvalidInput, "predicate: the view has a LIMIT, so its rows cannot be filtered")
			}
			limit = int64(*relation.View.Query.Limit)
		}
		count, err := t.planner().Count(ctx, relation, predicate)
		return RowCount{Rows: min(count, limit), Version: int64(d.Version())}, err
	})
}

// Groups makes groups of the rows of a query in parts that run elsewhere, or returns nil if the query is not divided; see
// [query.Planner.Groups].
func (t *Table) Groups(ctx context.Context, at AsOf, q *query.Query, g *query.Groups, tell func(string)) (*protocol.Rows, error) {
	return Read(ctx, t, at.Version, func(ctx context.Context, d *dataset.Dataset) (*protocol.Rows, error) {
		if t.spread == nil {
			return nil, nil //nolint:nilnil // not divided
		}
		if err := wal.Check(d, at.Log); err != nil {
			return nil, err
		}
		relation, err := condition.RelationOf(ctx, d, t.view)
		if err != nil {
			return nil, err
		}
		rows, err := t.planner().Groups(ctx, relation, q, g, tell)
		if rows == nil || err != nil {
			return nil, err
		}
		rows.Version = int64(d.Version())
		rows.Batches = t.Reading(ctx, d, rows.Batches)
		return rows, nil
	})
}

// planner returns the planner of the table's queries.
func (t *Table) planner() *query.Planner {
	if t.spread == nil {
		return t.engine.planner
	}
	p := *t.engine.planner
	p.Spread = t.spread
	return &p
}

// Part runs a part of a query whose other parts run elsewhere; see [query.Spread]. The answer tells what the part took, for
// [query.UsageOf].
func (t *Table) Part(ctx context.Context, part *query.Part) (*protocol.Rows, error) {
	version := int64(part.Version)
	return Read(ctx, t, &version, func(ctx context.Context, d *dataset.Dataset) (*protocol.Rows, error) {
		began := d.Now()
		relation, err := condition.RelationOf(ctx, d, t.view)
		if err != nil {
			return nil, err
		}
		var usage objectstore.Usage
		rows, err := t.engine.planner.Part(objectstore.WithTotal(ctx, &usage), relation, part)
		// What it took is also what the request took.
		objectstore.Count(ctx, true, int(usage.Requests()), int(usage.Bytes()))
		if err != nil {
			return nil, err
		}
		rows = query.WithUsage(rows, query.Usage{Requests: usage.Requests(), Bytes: usage.Bytes(), Took: d.Now().Sub(began)})
		rows.Version = version
		rows.Batches = t.Reading(ctx, d, rows.Batches)
		return rows, nil
	})
}
