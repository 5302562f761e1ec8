package engine

import (
	"context"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/segments"
)

// A NewIndex is an index to build. Package build has one.
type NewIndex interface {
	// Resolve returns how the index is built on a version, or an error if the version cannot have
	// it.
	Resolve(d *dataset.Dataset) (segments.NewIndex, error)
}

// CheckIndex returns an error if the newest version cannot have a new index: its column does not
// exist or has a type that does not fit, its kind cannot be built, or its name is taken.
func (t *Table) CheckIndex(ctx context.Context, n NewIndex) error {
	_, err := Read(ctx, t, nil, func(_ context.Context, d *dataset.Dataset) (struct{}, error) {
		wanted, err := n.Resolve(d)
		if err == nil {
			err = segments.Check(d, wanted)
		}
		return struct{}{}, err
	})
	return err
}

// CreateIndex builds an index over the newest version and commits it.
func (t *Table) CreateIndex(ctx context.Context, n NewIndex) (Written, error) {
	return t.alter(ctx, func(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
		wanted, err := n.Resolve(d)
		if err != nil {
			return nil, err
		}
		return segments.Create(ctx, d, wanted)
	})
}
