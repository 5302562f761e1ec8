package engine

import (
	"context"

	"tiltyard/shared/lance/dataset"
)

// CommitIndex commits an index of staged segments. choose returns the index and those of its segments
// that fit the newest version; it is called again when another commit comes first.
func (t *Table) CommitIndex(ctx context.Context, choose func(ctx context.Context, newest *dataset.Dataset) (dataset.NewIndex, []dataset.StagedSegment, error)) (Written, error) {
	return t.alter(ctx, func(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
		n, segments, err := choose(ctx, d)
		if err != nil {
			return nil, err
		}
		return d.CommitSegments(ctx, n, segments)
	})
}
