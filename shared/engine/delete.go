package engine

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/engine/internal/condition"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/process/memory"
)

// Delete deletes the rows that match a predicate. It makes one commit, even if no row matches.
func (t *Table) Delete(ctx context.Context, predicate string) (Written, error) {
	rows, made, err := change(ctx, t,
		func(ctx context.Context, d *dataset.Dataset) (*chosen, error) {
			return t.engine.choose(ctx, d, predicate)
		},
		func(ctx context.Context, rows *chosen) (dataset.Commit, error) {
			return rows.dataset.Delete(ctx, rows.set, predicate)
		})
	if err != nil {
		return already(Written{}, err)
	}
	done := written(made)
	done.Deleted = rows.set.Len()
	return done, nil
}

// chosen is a set of rows in a version.
type chosen struct {
	dataset *dataset.Dataset
	set     *rowset.Set
	held    memory.Hold // memory of the set
}

// choose finds the rows that match a predicate; an empty predicate matches all. The memory of the
// set is charged to the context until rows.held is released.
func (e *Engine) choose(ctx context.Context, d *dataset.Dataset, predicate string) (*chosen, error) {
	filter, err := condition.New(ctx, "predicate", predicate, condition.Relation{Dataset: d}, e.planner.Policy)
	if err != nil {
		return nil, err
	}
	rows := &chosen{dataset: d, set: rowset.At()}
	_, batches, err := d.Scan(ctx, filter.Options([]string{snapshot.RowAddr}))
	if err != nil {
		return nil, err
	}
	for batch, err := range batches {
		if err != nil {
			return nil, err
		}
		if err := rows.set.AddHeld(ctx, &rows.held, batch.Column(0).(*array.Uint64).Uint64Values()); err != nil {
			return nil, err
		}
	}
	return rows, nil
}
