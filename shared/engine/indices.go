package engine

import (
	"context"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
)

// Indices returns the indices of a version, ordered by name.
func (t *Table) Indices(ctx context.Context, version *int64) ([]snapshot.Index, error) {
	return Read(ctx, t, version, func(_ context.Context, d *dataset.Dataset) ([]snapshot.Index, error) {
		return d.Indices()
	})
}

// Index returns one index of a version.
func (t *Table) Index(ctx context.Context, version *int64, name string) (snapshot.Index, error) {
	return Read(ctx, t, version, func(_ context.Context, d *dataset.Dataset) (snapshot.Index, error) {
		return d.Index(name)
	})
}

// DropIndex removes an index.
func (t *Table) DropIndex(ctx context.Context, name string) (Written, error) {
	return t.alter(ctx, func(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
		return d.DropIndex(ctx, name)
	})
}
