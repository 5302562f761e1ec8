package engine

import (
	"context"

	"tiltyard/shared/lance/dataset"
)

// CreateAs is [Table.Create] with options of the caller.
func (t *Table) CreateAs(ctx context.Context, rows dataset.Rows, opts dataset.CreateOptions) (Written, error) {
	if err := checkColumns(rows); err != nil {
		return Written{}, err
	}
	commit, err := t.data.CreateAs(ctx, rows, opts)
	return written(commit), t.Translate(exists(err, t.name))
}

// Replace makes a commit that deletes rows of the newest version and adds others, as plan decides.
// It calls plan again after a conflicting commit. An error of plan ends the change. If an earlier
// attempt has made the change, plan is not called.
func (t *Table) Replace(ctx context.Context, plan func(ctx context.Context, newest *dataset.Dataset) (dataset.Replacement, error)) (Written, error) {
	type planned struct {
		newest *dataset.Dataset
		dataset.Replacement
	}
	_, made, err := change(ctx, t,
		func(ctx context.Context, d *dataset.Dataset) (planned, error) {
			r, err := plan(ctx, d)
			return planned{d, r}, err
		},
		func(ctx context.Context, p planned) (dataset.Commit, error) {
			return p.newest.Replace(ctx, p.Replacement)
		})
	return already(written(made), err)
}

// Restore commits a new version with the content of an old one.
func (t *Table) Restore(ctx context.Context, version uint64) (Written, error) {
	if err := t.unmade(ctx); err != nil {
		return already(Written{}, err)
	}
	made, err := t.data.Restore(ctx, version)
	return Made(made), t.Translate(err)
}
