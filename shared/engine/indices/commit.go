package indices

import (
	"context"

	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/segments"
)

// Commit commits an index from staged segments. choose returns the index and the segments that fit
// the newest version; it is called again after a conflicting commit.
func Commit(ctx context.Context, t *engine.Table, choose func(ctx context.Context, newest *dataset.Dataset) (segments.NewIndex, []segments.Staged, error)) (engine.Written, error) {
	return t.Alter(ctx, func(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
		n, staged, err := choose(ctx, d)
		if err != nil {
			return nil, err
		}
		return segments.Commit(ctx, d, n, staged)
	})
}

// CommitFold commits a merged segment that several workers have built. choose returns the staged segments that fit the
// newest version; it is called again after a conflicting commit.
func CommitFold(ctx context.Context, t *engine.Table, f *segments.StagedFold, choose func(ctx context.Context, newest *dataset.Dataset) (segments.NewIndex, []segments.Staged, error)) (engine.Written, error) {
	return t.Alter(ctx, func(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
		n, staged, err := choose(ctx, d)
		if err != nil {
			return nil, err
		}
		return segments.CommitFold(ctx, d, f, n, staged)
	})
}
