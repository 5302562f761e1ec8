// Package indices lists, creates and drops the indices of a table. Package indexbuild plans the build of each kind.
package indices

import (
	"context"
	"slices"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/internal/prefilter"
	"tiltyard/shared/index/kinds"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/segments"
	"tiltyard/shared/lance/dataset/snapshot"
)

// List returns the indices of a version, ordered by name. It reads the parameters that are stored only in index files; for
// an unusable file they are missing.
func List(ctx context.Context, t *engine.Table, version *int64) ([]snapshot.Index, error) {
	return engine.Read(ctx, t, version, func(ctx context.Context, d *dataset.Dataset) ([]snapshot.Index, error) {
		shared, err := d.Indices()
		all := slices.Clone(shared)
		for i := range all {
			if kind := kinds.Of(all[i].Kind.Of); kind != nil && kind.Describe != nil && err == nil {
				all[i].Kind.Details, err = kind.Describe(all[i].Kind.Details, func(file string) (map[string]string, error) {
					metadata, err := d.IndexMetadata(ctx, all[i].Name, file)
					if prefilter.IsUnusable(err) {
						return nil, nil
					}
					return metadata, err
				})
			}
		}
		return all, err
	})
}

// Drop removes an index.
func Drop(ctx context.Context, t *engine.Table, name string) (engine.Written, error) {
	return t.Alter(ctx, func(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
		return segments.Drop(ctx, d, name)
	})
}
