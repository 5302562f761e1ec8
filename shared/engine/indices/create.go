package indices

import (
	"context"

	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/segments"
)

// A NewIndex is an index to build, such as [indexbuild.Index].
type NewIndex interface {
	// Resolve returns the plan to build the index on a version, or an error if the version cannot have
	// it.
	Resolve(d *dataset.Dataset) (segments.NewIndex, error)
}

// Check returns an error if the newest version cannot have a new index: its column is missing or of
// a wrong type, its kind cannot be built, or its name is taken.
func Check(ctx context.Context, t *engine.Table, n NewIndex) error {
	_, err := engine.Read(ctx, t, nil, func(_ context.Context, d *dataset.Dataset) (struct{}, error) {
		wanted, err := n.Resolve(d)
		if err == nil {
			err = segments.Check(d, wanted)
		}
		return struct{}{}, err
	})
	return err
}

// Create builds an index over the newest version and commits it.
func Create(ctx context.Context, t *engine.Table, n NewIndex) (engine.Written, error) {
	return t.Alter(ctx, func(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
		wanted, err := n.Resolve(d)
		if err != nil {
			return nil, err
		}
		return segments.Create(ctx, d, wanted)
	})
}
