// Package enginetest helps tests of packages that work on tables.
package enginetest

import (
	"context"

	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
)

// Index returns an index of the newest version of a table.
func Index(ctx context.Context, t *engine.Table, name string) (snapshot.Index, error) {
	return engine.Read(ctx, t, nil, func(_ context.Context, d *dataset.Dataset) (snapshot.Index, error) { return d.Index(name) })
}
