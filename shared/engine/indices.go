package engine

import (
	"context"
	"slices"

	"tiltyard/shared/engine/narrow"
	"tiltyard/shared/index/kinds"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/segments"
	"tiltyard/shared/lance/dataset/snapshot"
)

// Indices returns the indices of a version, ordered by name. Their details have the parameters that only their files
// hold, unless these cannot be used.
func (t *Table) Indices(ctx context.Context, version *int64) ([]snapshot.Index, error) {
	return Read(ctx, t, version, func(ctx context.Context, d *dataset.Dataset) ([]snapshot.Index, error) {
		shared, err := d.Indices()
		all := slices.Clone(shared)
		for i := range all {
			if kind := kinds.Of(all[i].Kind.Of); kind != nil && kind.Describe != nil && err == nil {
				all[i].Kind.Details, err = kind.Describe(all[i].Kind.Details, func(file string) (map[string]string, error) {
					metadata, err := d.IndexMetadata(ctx, all[i].Name, file)
					if narrow.IsUnusable(err) {
						return nil, nil
					}
					return metadata, err
				})
			}
		}
		return all, err
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
		return segments.Drop(ctx, d, name)
	})
}
