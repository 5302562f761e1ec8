package indexing

import (
	"context"
	"time"

	"tiltyard/shared/index"
	"tiltyard/shared/jobs"
)

// effort estimates a shard. Usually there are enough shards for each to be light, but a stage has a maximum number of
// parts, so the shards of very large tables are heavy.
func (w round) effort(ctx context.Context, r *jobs.Run) (jobs.Effort, error) {
	return unlessGone(open(ctx, w, r, nil, func(_ context.Context, k *work) (jobs.Effort, error) {
		e, rows := k.parts.Effort(), float64(k.stretch.rows())/float64(k.stretch.shards)
		return jobs.Effort{Time: time.Duration(rows * (e.RowNanos + readNanos*e.RowBytes)), Memory: int64(rows * e.Held)}, nil
	}))
}

// effortOfJoin estimates the largest join. It may be heavy, because a shard, or many shards of one fragment, cannot be
// divided.
func (w round) effortOfJoin(ctx context.Context, r *jobs.Run) (jobs.Effort, error) {
	shards, err := w.made(ctx, r)
	if err != nil || len(shards) == 0 {
		return jobs.Effort{}, err
	}
	return unlessGone(open(ctx, w, r, nil, func(_ context.Context, k *work) (most jobs.Effort, err error) {
		for _, g := range k.groups(k.stretch, k.parts, shards) {
			var e jobs.Effort
			for _, shard := range shards[g.from:g.to] {
				e.Time += time.Duration(joinNanos(k.parts, shard))
				e.Memory += shard.Held
			}
			most = jobs.Effort{Time: max(most.Time, e.Time), Memory: max(most.Memory, e.Memory)}
		}
		return most, nil
	}))
}

// joinNanos estimates the time that a shard takes in a join, in nanoseconds.
func joinNanos(parts index.Parts, shard index.Shard) float64 {
	return float64(shard.Keys)*parts.Effort().KeyNanos + 2*readNanos*float64(shard.Bytes)
}
