package engine

import (
	"context"
	"errors"

	"tiltyard/shared/engine/failure"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
)

// Prewarm is [snapshot.Snapshot.Prewarm] of the newest version.
func (t *Table) Prewarm(ctx context.Context, columns []string) error {
	_, err := Read(ctx, t, nil, func(ctx context.Context, d *dataset.Dataset) (struct{}, error) {
		err := d.Prewarm(ctx, columns)
		var unknown *snapshot.ErrNoColumn
		if errors.As(err, &unknown) {
			err = failure.NoColumn(unknown)
		}
		return struct{}{}, err
	})
	return err
}
