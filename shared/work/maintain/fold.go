package maintain

import (
	"cmp"
	"context"
	"time"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/maintenance"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/segments"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/work/indexing"
)

// A job without a request updates an index if it lacks at least gradualFragments fragments, or more
// than gradualShare of the rows that it covers. Scanning fewer rows is fast, and each segment costs
// a version of the table and some files.
const (
	gradualFragments = 8
	gradualShare     = 1.0 / 16
)

// worth reports whether the order includes work on an index.
func (o Order) worth(f segments.Fold) bool {
	if !o.Gradual {
		return true
	}
	return f.Fresh >= gradualFragments || float64(f.Index.Unindexed) > gradualShare*float64(f.Index.Indexed)
}

// fold updates the indices of the table and of its branches, with one commit for each index.
func (k *Keeper) fold(ctx context.Context, r *jobs.Run, order Order, at *progress) error {
	return k.eachBranch(ctx, r.Object(), func(branch string) error { return k.foldOne(ctx, r, order, at, branch) })
}

// foldOne updates the indices of one branch, and begins separate jobs for large ones.
func (k *Keeper) foldOne(ctx context.Context, r *jobs.Run, order Order, at *progress, branch string) error {
	var large []snapshot.Index
	take := func(ctx context.Context, d *dataset.Dataset, f segments.Fold) (bool, error) {
		if !order.worth(f) {
			return false, nil
		}
		isLarge, err := k.parts().IsLarge(ctx, d, f)
		if isLarge {
			large = append(large, f.Index)
		}
		return !isLarge, err
	}
	for after := ""; ; {
		large = large[:0]
		done, err := changeBranch(ctx, k, r.Object(), branch, func(table *engine.Table) (maintenance.Folded, int64, error) {
			done, err := maintenance.FoldIndex(ctx, table, after, take, k.Extend)
			return done, done.Version, err
		})
		switch {
		case order.Gradual && protocol.CodeOf(err) == protocol.ConcurrentModification:
			return nil // a writer was faster; a later job tries again
		case err != nil:
			return err
		}
		if err := k.beginFolding(ctx, r, at, branch, large); err != nil || done.Index == "" {
			return err
		}
		after = done.Index
		at.Report.IndicesFolded++
		at.Report.SegmentsMerged += done.Merged
		if branch == "" {
			at.Report.Version = done.Version
		}
		r.Progress(jobs.Progress{Done: int64(at.Report.IndicesFolded)})
		if err := r.Checkpoint(ctx, at); err != nil {
			return err
		}
	}
}

// parts returns the sizes from which many workers update an index.
func (k *Keeper) parts() indexing.Sizes { return cmp.Or(k.Parts, indexing.PartSizes) }

// beginFolding begins jobs with many workers for large indices: at most one per index in a maintenance job, and only if no
// earlier one is still running.
func (k *Keeper) beginFolding(ctx context.Context, r *jobs.Run, at *progress, branch string, large []snapshot.Index) error {
	for _, x := range large {
		key := branch + "/" + x.Name
		// This job has begun one before; see the checkpoint.
		if _, begun := at.Folding[key]; begun {
			continue
		}
		jobs := k.Tables.Jobs
		folding, err := indexing.Folding(ctx, jobs.Transactions, r.Object(), branch, x.Name)
		if err == nil && folding == nil {
			folding, err = jobs.Begin(ctx, indexing.FoldKind, r.Object(), indexing.NewFold(x, branch))
		}
		if err != nil {
			return err
		}
		if at.Folding == nil {
			at.Folding = map[string]string{}
		}
		at.Folding[key] = folding.ID
		// Record the id before the next index, so that a repeated run does not begin the job twice.
		if err := r.Checkpoint(ctx, at); err != nil {
			return err
		}
	}
	return nil
}

// foldingWait is the pause between two checks for the end of such jobs.
const foldingWait = 5 * time.Second

// folding reports whether a job must wait for the folding jobs that it began. Only a requested job waits, so that large
// indices do not block automatic maintenance.
func (k *Keeper) folding(ctx context.Context, order Order, at *progress) (waits bool, err error) {
	if order.Gradual {
		return false, nil
	}
	for key, id := range at.Folding {
		if id == "" {
			continue
		}
		done, err := k.Tables.Jobs.Transactions.Job(ctx, transaction.Unit{Job: id})
		if err != nil {
			return false, err
		}
		if !done.Status.Ended() {
			waits = true
			continue
		}
		at.Folding[key] = ""
		if done.Status == transactionapi.Succeeded {
			at.Report.IndicesFolded++
		}
	}
	return waits, nil
}
