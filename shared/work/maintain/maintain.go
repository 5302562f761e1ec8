// Package maintain compacts and cleans up tables, and keeps their indices up to date. Each small write adds a data file
// and a version, and rows that no index covers. Only the jobs of this package remove and index them:
//
//   - compaction joins small fragments and drops deleted rows, as native Lance does. The same commit updates
//     the segments of indices. It works in rounds of bounded size. Branches are compacted like
//     the table, except for fragments that belong to the table, which would be copied;
//   - folding indexes the uncovered rows of an index in a new segment, and merges small segments,
//     so that searches need not scan those rows;
//   - cleanup deletes versions that were replaced long ago, unless a tag, a branch or a view needs
//     them, and then the files to which no version refers.
//
// Writers come first: a compaction that conflicts with a writer gives up. Cleanup deletes no file that a running request
// may need. A file must be older than any write takes ([Keeper.FileAge]), and the files of a deleted version stay for
// longer than any request takes ([Keeper.Grace]), so that a request that has begun to restore the version can finish.
//
// A client may request a job. A worker also checks each table every few versions, and begins a job if there is work
// ([jobs.Kind.Poll]) and the properties of the table allow it (policy.go).
package maintain

import (
	"context"
	"maps"
	"slices"
	"time"

	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/catalog/upkeep"
	"tiltyard/shared/engine"
	"tiltyard/shared/engine/indexbuild"
	"tiltyard/shared/engine/maintenance"
	"tiltyard/shared/engine/view"
	"tiltyard/shared/engine/view/materialize"
	"tiltyard/shared/jobs"
	"tiltyard/shared/lance/dataset/cleanup"
	"tiltyard/shared/lance/dataset/compaction"
	"tiltyard/shared/lance/dataset/segments"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/record"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/indexing"
)

// A Keeper compacts and cleans up tables.
type Keeper struct {
	Tables  tables.Tables
	Records record.Store // stores the time of each table's last cleanup
	Now     func() time.Time
	// Grace is how long the files of a deleted version stay. It is longer than any request, because a
	// request that began before the deletion may still read them.
	Grace time.Duration
	// Extend builds index segments for compacted and folded rows.
	Extend segments.Extender
	// Parts are the sizes from which many workers update an index. Zero means indexing.PartSizes.
	Parts indexing.Sizes
	// FileAge is the age from which an unreferenced file is garbage. Zero means DefaultFileAge.
	FileAge time.Duration
}

// Open returns a keeper of tables. requestTimeout is the longest time of a request.
func Open(on tables.Tables, requestTimeout time.Duration) *Keeper {
	return &Keeper{Tables: on, Records: on.Records, Now: on.Now, Grace: graceAfter(requestTimeout), Extend: indexbuild.Extender{}}
}

// graceAfter returns a sufficient Grace for requests that take at most requestTimeout.
func graceAfter(requestTimeout time.Duration) time.Duration { return 2*requestTimeout + time.Second }

// DefaultFileAge is the age that native Lance uses.
const DefaultFileAge = 7 * 24 * time.Hour

// Kind returns the kind of maintenance jobs, for [tables.MaintainKind].
func (k *Keeper) Kind() jobs.Kind {
	kind := jobs.Single("maintain", k.run)
	kind.Poll = k.poll
	return kind
}

// An Order is the input of a job. It selects the maintenance of a table.
type Order struct {
	Compact bool `json:"compact,omitempty"`
	// Gradual is set for jobs without a request. They skip large fragments, and tables with only a few
	// small ones.
	Gradual bool `json:"gradual,omitempty"`
	// Indices selects updates of the indices.
	Indices bool `json:"indices,omitempty"`

	Cleanup   bool          `json:"cleanup,omitempty"`
	Retention time.Duration `json:"retention,omitempty"` // how long a replaced version is kept
	Keep      int           `json:"keep,omitempty"`      // the least number of versions to keep
}

// A Report is the result of a job, or in a dry run the expected result.
type Report struct {
	FragmentsRemoved int            `json:"fragments_removed"`
	FragmentsAdded   int            `json:"fragments_added"`
	IndicesFolded    int            `json:"indices_folded"` // indices that cover further rows now
	SegmentsMerged   int            `json:"segments_merged"`
	Version          int64          `json:"version,omitempty"` // the version that the last change of rows or indices made
	Cleaned          cleanup.Report `json:"cleaned"`
}

// progress is the state that a job stores at its checkpoints.
type progress struct {
	Phase   phase     `json:"phase"`
	Expired time.Time `json:"expired,omitzero"` // when the job deleted versions, or zero if it need not wait for the grace
	Report  Report    `json:"report"`
	// Folding has the ids of jobs that update large indices, by branch and index; "" once they have
	// ended.
	Folding map[string]string `json:"folding,omitempty"`
}

// A phase is a step of a job. Each job passes through them in order.
type phase int

const (
	compacting phase = iota
	folding          // updates indices
	expiring         // deletes versions
	sweeping         // deletes files
)

// run runs a job. Each step starts from the current state of the table, so a step may run twice.
func (k *Keeper) run(ctx context.Context, r *jobs.Run) (any, error) {
	var order Order
	var at progress
	if err := r.Input(&order); err != nil {
		return nil, err
	}
	if err := r.State(&at); err != nil {
		return nil, err
	}
	// The phase comes from the last checkpoint, so an interrupted job skips finished phases.
	if at.Phase == compacting && order.Compact {
		if err := k.compact(ctx, r, order, &at); err != nil {
			return nil, err
		}
		if err := k.noteSizeOf(ctx, r.Object()); err != nil {
			return nil, err
		}
	}
	at.Phase = max(at.Phase, folding)
	if at.Phase == folding && order.Indices {
		if err := k.fold(ctx, r, order, &at); err != nil {
			return nil, err
		}
		if waits, err := k.folding(ctx, order, &at); err != nil {
			return nil, err
		} else if waits {
			return nil, jobs.Later(foldingWait)
		}
	}
	if !order.Cleanup {
		return at.Report, nil
	}
	if at.Phase < sweeping {
		if err := k.expire(ctx, r, order, &at); err != nil {
			return nil, err
		}
	}
	// Running requests may still read files of the deleted versions.
	if wait := at.Expired.Add(k.Grace).Sub(k.Now()); wait > 0 {
		return nil, jobs.Later(wait)
	}
	if err := k.sweep(ctx, r, &at); err != nil {
		return nil, err
	}
	return at.Report, nil
}

// gradual selects the fragments that a job without a request compacts.
var gradual = compaction.Options{MinFragments: 8, Tiered: true, Own: true}

// compaction returns the options for an order.
func (k *Keeper) compaction(o Order) compaction.Options {
	opts := compaction.Options{}
	if o.Gradual {
		opts = gradual
	}
	opts.Extend = k.Extend
	return opts
}

// compact compacts the table and then each of its branches, until no fragment is worth compacting.
func (k *Keeper) compact(ctx context.Context, r *jobs.Run, order Order, at *progress) error {
	return k.eachBranch(ctx, r.Object(), func(branch string) error { return k.compactOne(ctx, r, order, at, branch) })
}

// eachBranch calls f with "" for the table itself, and then with the name of each branch.
func (k *Keeper) eachBranch(ctx context.Context, id []string, f func(branch string) error) error {
	if err := f(""); err != nil {
		return err
	}
	found, err := k.Tables.Names.Table(ctx, id)
	if err != nil {
		return err
	}
	table := k.Tables.At(found)
	branches, _, err := table.Data().Refs().Branches(ctx, "", 0)
	err = table.Translate(err)
	for _, branch := range slices.Sorted(maps.Keys(branches)) {
		if err == nil {
			err = f(branch)
		}
		if protocol.CodeOf(err) == protocol.TableBranchNotFound {
			err = nil // the branch was deleted after it was listed
		}
	}
	return err
}

// compactOne compacts a branch, or the table itself if branch is "". Each round compacts some of
// the fragments and stores a checkpoint.
func (k *Keeper) compactOne(ctx context.Context, r *jobs.Run, order Order, at *progress, branch string) error {
	for {
		done, err := changeBranch(ctx, k, r.Object(), branch, func(table *engine.Table) (maintenance.Compacted, int64, error) {
			opts := k.compaction(order)
			opts.Own = opts.Own || branch != ""
			done, err := maintenance.Compact(ctx, table, opts)
			return done, done.Version, err
		})
		switch {
		case order.Gradual && protocol.CodeOf(err) == protocol.ConcurrentModification:
			return nil // a writer was faster; a later job tries again
		case err != nil:
			return err
		case done.Version == 0:
			return nil
		}
		at.Report.FragmentsRemoved += done.Removed
		at.Report.FragmentsAdded += done.Added
		if branch == "" {
			at.Report.Version = done.Version
		}
		steps := int64(at.Report.FragmentsRemoved)
		r.Progress(jobs.Progress{Done: steps, Total: steps + int64(done.Remaining)})
		if err := r.Checkpoint(ctx, at); err != nil {
			return err
		}
	}
}

// changeBranch runs work on a branch of a table, or on the table itself if branch is "". work
// returns the version that it made, or 0 if it made none.
func changeBranch[T any](ctx context.Context, k *Keeper, id []string, branch string, work func(t *engine.Table) (T, int64, error)) (T, error) {
	return tables.Try(ctx, k.Tables.Open(id, branch), func(ctx context.Context, t tables.Table) (T, error) {
		done, version, err := work(t.ConfirmWith(t.Found.Confirm))
		switch {
		case err != nil || version == 0:
		case branch == "":
			t.Found.Hint(ctx, uint64(version))
		default:
			k.Tables.Names.Committed(ctx, id, branch)
		}
		return done, err
	})
}

// expire deletes versions that are old enough. Their files stay for the grace, and so do the files
// of versions that an earlier cleanup has deleted, according to the deletion record. Without such
// versions the job need not wait.
func (k *Keeper) expire(ctx context.Context, r *jobs.Run, order Order, at *progress) error {
	ctx = objectstore.Freeing(ctx)
	recorded, err := k.recordDeletion(ctx, r.Object(), r.ID())
	if err != nil {
		return err
	}
	// Choose the versions now: tags and views may have changed since the order.
	report, err := k.onTable(ctx, r.Object(), func(ctx context.Context, t *engine.Table) (cleanup.Report, error) {
		expiry, err := k.expiry(ctx, r.Object(), order, false)
		if err != nil {
			return cleanup.Report{}, err
		}
		return maintenance.ExpireVersions(ctx, t, expiry)
	})
	if err != nil {
		return err
	}
	if at.Expired, err = recorded.end(ctx, report.Versions > 0, k.Now().UTC()); err != nil {
		return err
	}
	at.Phase, at.Report.Cleaned = sweeping, report
	r.Progress(jobs.Progress{})
	return r.Checkpoint(ctx, at)
}

// sparedFor is how long a version stays because a view is based on it. A refresh compares that
// version with a newer one; without it, the refresh would compute all rows.
const sparedFor = 30 * 24 * time.Hour

// expiry returns the versions to delete, and spares the versions on which materialized views are
// based.
func (k *Keeper) expiry(ctx context.Context, id []string, order Order, dry bool) (cleanup.Expiry, error) {
	now := k.Now()
	expiry := cleanup.Expiry{
		Before: now.Add(-max(order.Retention, upkeep.MinRetention)), Keep: order.Keep, DryRun: dry, SparedBefore: now.Add(-sparedFor),
	}
	found, err := k.Tables.Names.Table(ctx, id)
	if err != nil {
		return expiry, err
	}
	for _, d := range found.Dependents {
		version, err := k.shown(ctx, d)
		if err != nil {
			return expiry, err
		}
		if version > 0 {
			expiry.Spared = append(expiry.Spared, version)
		}
	}
	return expiry, nil
}

// shown returns the version of its source on which a materialized view is based, or 0 if there is
// none.
func (k *Keeper) shown(ctx context.Context, d stored.Dependent) (uint64, error) {
	if d.Kind != stored.Materialized {
		return 0, nil
	}
	ctx = auth.Unlimited(ctx)
	found, err := k.Tables.Names.Table(ctx, d.ID)
	if err == nil && (found.View == nil || found.View.UID != d.UID) {
		return 0, nil
	}
	var mark *view.Watermark
	if err == nil {
		mark, err = materialize.Shown(ctx, k.Tables.At(found))
	}
	switch {
	case ctx.Err() != nil || protocol.HasCode(err, protocol.ServiceUnavailable):
		return 0, err
	case err != nil || mark == nil:
		return 0, nil //nolint:nilerr // a view that is gone or damaged does not keep its source from being cleaned up
	}
	return mark.Source, nil
}

// sweep deletes the files to which no version refers.
func (k *Keeper) sweep(ctx context.Context, r *jobs.Run, at *progress) error {
	report, err := k.onTable(ctx, r.Object(), func(ctx context.Context, t *engine.Table) (cleanup.Report, error) {
		return maintenance.DeleteOrphans(ctx, t, k.Now().Add(-k.fileAge()), false, func(looked int) error {
			r.Progress(jobs.Progress{Done: int64(looked)})
			return r.Checkpoint(ctx, at)
		})
	})
	at.Report.Cleaned.Files = report.Files
	at.Report.Cleaned.Bytes += report.Bytes
	return err
}

func (k *Keeper) fileAge() time.Duration {
	if k.FileAge == 0 {
		return DefaultFileAge
	}
	return k.FileAge
}

// onTable runs work on the table with a name. Unlike other changes it does not retry after a
// rename: work decides which files to delete, and another table has another location.
func (k *Keeper) onTable(ctx context.Context, id []string, work func(context.Context, *engine.Table) (cleanup.Report, error)) (cleanup.Report, error) {
	ctx = objectstore.Freeing(ctx)
	found, err := k.Tables.Names.Table(ctx, id)
	if err != nil {
		return cleanup.Report{}, err
	}
	return work(ctx, k.Tables.At(found))
}

// DryRun returns the result that a job with this order would have now. It does not count the files
// of versions that the job would delete, because those versions still refer to them.
func (k *Keeper) DryRun(ctx context.Context, id []string, order Order) (Report, error) {
	var report Report
	found, err := k.Tables.Names.Table(ctx, id)
	if err != nil {
		return report, err
	}
	table := k.Tables.At(found)
	family, err := maintenance.FamilyOf(ctx, table)
	if err != nil {
		return report, err
	}
	if order.Compact {
		if report.FragmentsRemoved, err = family.ToCompact(ctx, k.compaction(order)); err != nil {
			return report, err
		}
	}
	if order.Indices {
		if report.IndicesFolded, err = family.ToFold(ctx, order.worth); err != nil {
			return report, err
		}
	}
	if !order.Cleanup {
		return report, nil
	}
	expiry, err := k.expiry(ctx, id, order, true)
	if err != nil {
		return report, err
	}
	if report.Cleaned, err = maintenance.ExpireVersions(ctx, table, expiry); err != nil {
		return report, err
	}
	orphans, err := maintenance.DeleteOrphans(ctx, table, k.Now().Add(-k.fileAge()), true, func(int) error { return ctx.Err() })
	report.Cleaned.Files = orphans.Files
	report.Cleaned.Bytes += orphans.Bytes
	return report, err
}
