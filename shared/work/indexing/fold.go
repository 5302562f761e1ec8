package indexing

import (
	"context"
	"errors"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/indexbuild"
	"tiltyard/shared/engine/indices"
	"tiltyard/shared/index/kinds"
	"tiltyard/shared/jobs"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/segments"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/tables"
)

// FoldKind is the kind of jobs that merge new rows into an index with many workers, because one worker would need too
// long. They build new segments as for a new index, which replace old ones ([dataset.Fold]):
//
//	build ─> shards ─> join ─> commit
//
// There is only one round. The job skips fragments whose values changed meanwhile, and commits nothing if the segments of
// the index changed. A later job handles these.
const FoldKind = "fold_index"

// NewFold returns the order to merge new rows into an index on a branch of a table.
func NewFold(x snapshot.Index, branch string) Order {
	return Order{Name: x.Name, Column: x.Named[0], Branch: branch}
}

// Fold returns the kind of job that merges new rows into an index.
func Fold(on tables.Tables, sizes Sizes) jobs.Kind {
	b := builder{on, sizes}
	r := round{builder: b, division: buildStage, fold: true}
	return jobs.Kind{Stages: []jobs.Stage{
		{Name: buildStage, Do: b.divideFold},
		{Name: shardsStage, Parts: r.shards, Estimate: r.effort, Do: r.shard},
		{Name: joinStage, Parts: r.joins, Estimate: r.effortOfJoin, Do: r.join},
		{Name: commitStage, Do: r.commitFold},
	}}
}

// divideFold divides the rows to merge into an index. It ends the job if there are none.
func (b builder) divideFold(ctx context.Context, r *jobs.Run) (any, error) {
	var order Order
	if err := r.Input(&order); err != nil {
		return nil, err
	}
	return tables.Read(ctx, b.on.Open(r.Object(), order.Branch), nil, func(ctx context.Context, at tables.Version) (any, error) {
		folds, err := segments.Folds(at.Dataset, func(x snapshot.Index) bool { return x.Name == order.Name && (indexbuild.Extender{}).CanExtend(x) })
		if err != nil || len(folds) == 0 {
			return jobs.End{Result: result{}}, err
		}
		v := &division{Place: at.Found.Table.Location.URI}
		if v.Fold, err = segments.StageFold(at.Dataset, folds[0]); err != nil {
			return nil, err
		}
		// Without a segment to resemble, one worker must build the index.
		if _, like, err := v.index(ctx, order, at.Dataset); err != nil || like.IsEmpty() {
			return jobs.End{Result: result{}}, err
		}
		return v, b.divideFragments(ctx, v, at.Dataset, order, folds[0].Fragments())
	})
}

// leastFolded is the minimum number of rows that justifies many workers, whatever the size of the
// rows.
const leastFolded = 1 << 10

// IsLarge reports whether a fold is too large for one worker and can be divided among many.
func (s Sizes) IsLarge(ctx context.Context, d *dataset.Dataset, f segments.Fold) (bool, error) {
	if f.Rows < leastFolded {
		return false, nil
	}
	staged, err := segments.StageFold(d, f)
	if err != nil {
		return false, err
	}
	v := &division{Fold: staged}
	n, like, err := v.index(ctx, Order{Name: f.Index.Name}, d)
	if err != nil || like.IsEmpty() {
		return false, err
	}
	parts, err := n.Divide(d)
	if err != nil {
		return false, err
	}
	// The new rows alone must need more than one shard.
	return float64(s.shards(d, parts))*float64(f.Rows)/float64(max(d.CountRows(), 1)) > 1, nil
}

// index returns the index to build, and for a fold also the segment that new segments resemble.
func (v *division) index(ctx context.Context, order Order, d *dataset.Dataset) (indexbuild.Index, *snapshot.Segment, error) {
	if v.Fold == nil {
		return order.index(), nil, nil
	}
	x, like, err := segments.LikeOf(d, order.Name, v.Fold.Like)
	if err != nil {
		return indexbuild.Index{}, nil, err
	}
	n, err := indexbuild.Like(ctx, x, like)
	return n, like, err
}

// commitFold commits the segments, which ends the job. If the index or all values changed meanwhile, it commits nothing.
func (w round) commitFold(ctx context.Context, r *jobs.Run) (any, error) {
	v, err := w.divided(ctx, r)
	if err != nil {
		return nil, err
	}
	staged, _, err := w.segments(ctx, r, v)
	if err != nil {
		return nil, err
	}
	var order Order
	if err := r.Input(&order); err != nil {
		return nil, err
	}
	done, err := w.change(ctx, r, order.Branch, func(t tables.Table) (engine.Written, error) {
		if t.Found.Table.Location.URI != v.Place {
			return engine.Written{}, errReplaced
		}
		return indices.CommitFold(ctx, t.Table, v.Fold, func(ctx context.Context, newest *dataset.Dataset) (n segments.NewIndex, fit []segments.Staged, err error) {
			built, like, err := v.index(ctx, order, newest)
			if err != nil {
				return n, nil, err
			}
			if n, err = built.Resolve(newest); err != nil {
				return n, nil, err
			}
			// Kinds whose segments can be extended keep the details of the existing segment.
			if kinds.Of(built.Kind).Extend != nil {
				n.Details = like.Details
			}
			// If no fragment has its values any more, the fold is stale and commits nothing.
			if fit, _, err = fitting(ctx, t.Table, newest, order.Column, staged, false); err == nil && len(fit) == 0 {
				err = segments.ErrStaleFold
			}
			return n, fit, err
		})
	})
	if errors.Is(err, segments.ErrStaleFold) {
		return jobs.End{Result: result{}}, nil
	}
	return jobs.End{Result: done}, err
}
