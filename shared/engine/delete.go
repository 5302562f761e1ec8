package engine

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/memory"
)

// Delete deletes the rows for which a predicate is true, as one commit, which is made
// also when there are none. confirm is as for Insert.
func (t *Table) Delete(ctx context.Context, predicate string, confirm func() error) (Written, error) {
	rows, made, err := change(ctx, t,
		func(ctx context.Context, d *dataset.Dataset) (*chosen, error) {
			return choose(ctx, d, predicate)
		},
		func(ctx context.Context, rows *chosen) (dataset.Commit, error) {
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
	held    memory.Hold // of the set
}

// choose finds the rows for which a predicate is true: all, when it is empty. Their set stays
// counted in the share of the context.
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
		if err := addRows(ctx, &rows.held, rows.set, batch.Column(0).(*array.Uint64).Uint64Values()); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// addRows adds rows to a set, for which held has its memory. An address takes two bytes at most
// in a set, and far less where many rows are in it.
func addRows(ctx context.Context, held *memory.Hold, set *dataset.RowSet, addresses []uint64) error {
	if len(addresses) == 0 {
		return nil
	}
	if err := held.Resize(ctx, set.Bytes()+2*int64(len(addresses))); err != nil {
		return err
	}
	set.Add(addresses)
	return held.Resize(ctx, set.Bytes())
}
