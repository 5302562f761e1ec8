package engine

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance/dataset"
)

// Delete deletes the rows for which a predicate is true, as one commit, which is made
// also when there are none. confirm is as for Insert.
func (t *Table) Delete(ctx context.Context, predicate string, confirm func() error) (Written, error) {
	rows, made, err := change(ctx, t,
		func(ctx context.Context, d *dataset.Dataset) (*chosen, error) {
			return choose(ctx, d, predicate)
		},
		func(rows *chosen) (dataset.Commit, error) {
			return rows.dataset.Delete(ctx, rows.set, predicate, confirm)
		})
	if err != nil {
		return already(Written{}, err)
	}
	done := written(made)
	done.Deleted = rows.set.Len()
	return done, nil
}

// chosen are rows of a version.
type chosen struct {
	dataset *dataset.Dataset
	where   *dataset.Where
	set     *dataset.RowSet
}

// choose finds the rows for which a predicate is true: all, when it is empty.
func choose(ctx context.Context, d *dataset.Dataset, predicate string) (*chosen, error) {
	where, err := where(ctx, "predicate", predicate, d)
	if err != nil {
		return nil, err
	}
	rows := &chosen{dataset: d, where: where, set: dataset.RowsAt()}
	_, batches, err := d.Scan(ctx, dataset.ScanOptions{Columns: []string{dataset.RowAddr}, Where: where})
	if err != nil {
		return nil, err
	}
	for batch, err := range batches {
		if err != nil {
			return nil, err
		}
		rows.set.Add(batch.Column(0).(*array.Uint64).Uint64Values())
	}
	return rows, nil
}
