package maintain

import (
	"context"

	"tiltyard/shared/engine"
	"tiltyard/shared/job"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
)

// A job that no client asked for brings an index up to date when it lacks so many fragments, or this part
// of the rows that the new segment covers. Fewer rows are quickly scanned, and each segment is a version
// of the table and some files.
const (
	gradualFragments = 8
	gradualShare     = 1.0 / 16
)

// worth reports whether work on an index is done.
func (o Order) worth(f dataset.Fold) bool {
	if !o.Gradual {
		return true
	}
	return f.Fresh >= gradualFragments || float64(f.Index.Unindexed) > gradualShare*float64(f.Index.Indexed)
}

// fold brings the indices of the table and of its branches up to date, one commit for each index.
func (k *Keeper) fold(ctx context.Context, r *job.Run, order Order, at *progress) error {
	return k.eachBranch(ctx, r.Object(), func(branch string) error { return k.foldOne(ctx, r, order, at, branch) })
}

func (k *Keeper) foldOne(ctx context.Context, r *job.Run, order Order, at *progress, branch string) error {
	for after := ""; ; {
		done, err := changeBranch(ctx, k, r.Object(), branch, func(table *engine.Table) (engine.Folded, int64, error) {
			done, err := table.FoldIndex(ctx, after, order.worth, k.Extend)
			return done, done.Version, err
		})
		switch {
		case order.Gradual && protocol.CodeOf(err) == protocol.ConcurrentModification:
			return nil // a writer was faster; a later job tries again
		case err != nil:
			return err
		case done.Index == "":
			return nil
		}
		after = done.Index
		at.Report.IndicesFolded++
		at.Report.SegmentsMerged += done.Merged
		if branch == "" {
			at.Report.Version = done.Version
		}
		r.Progress(job.Progress{Done: int64(at.Report.IndicesFolded)})
		if err := r.Checkpoint(ctx, at); err != nil {
			return err
		}
	}
}
