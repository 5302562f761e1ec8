package engine

import (
	"context"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/segments"
)

// CommitIndex commits an index of staged segments. choose returns the index and those of its segments
// that fit the newest version; it is called again when another commit comes first.
func (t *Table) CommitIndex(ctx context.Context, choose func(ctx context.Context, newest *dataset.Dataset) (segments.NewIndex, []segments.Staged, error)) (Written, error) {
	return t.alter(ctx, func(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
		n, staged, err := choose(ctx, d)
		if err != nil {
			return nil, err
		}
		return segments.Commit(ctx, d, n, staged)
	})
}

// CommitFold commits the segments of a fold that many workers have built. choose returns those that fit the newest
// version; it is called again when another commit comes first.
func (t *Table) CommitFold(ctx context.Context, f *segments.StagedFold, choose func(ctx context.Context, newest *dataset.Dataset) (segments.NewIndex, []segments.Staged, error)) (Written, error) {
	return t.alter(ctx, func(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
		n, staged, err := choose(ctx, d)
		if err != nil {
			return nil, err
		}
		return segments.CommitFold(ctx, d, f, n, staged)
	})
}
