// Package maintain keeps tables fit. Each small write adds a data file and a version, and
// nothing but a job of this package ever takes one away:
//
//   - compaction joins small fragments and leaves out rows that are deleted, as native Lance
//     does, a good deal at a time, each of them one commit. Branches are compacted like the
//     table, but for what they share with it, which would have to be copied;
//   - cleanup deletes versions that were replaced long ago, unless a tag or a branch needs
//     them, and then files that no version names any more.
//
// Writers come first: a compaction that meets one gives way. Nothing is deleted that somebody
// could still need: files are older than any write takes ([Keeper.FileAge]), and between the
// deletion of a version and that of its files is more time than any request takes
// ([Keeper.Grace]), in which who had begun to restore it is done.
//
// Jobs are begun when somebody asks for one, or when a worker finds, every few versions of a
// table, that there is something to do ([Keeper.Wanted]) and that the table's properties
// allow it (policy.go).
package maintain

import (
	"context"
	"maps"
	"slices"
	"time"

	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/job"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
	"tiltyard/shared/record"
	"tiltyard/shared/tables"
)

// A Keeper keeps tables fit.
type Keeper struct {
	Tables  tables.Tables
	Records record.Store // where it notes when a table was cleaned up
	Now     func() time.Time
	// Grace is how long after the deletion of versions their files are. Longer than any
	// request that opened one before.
	Grace time.Duration
	// FileAge is how old a file is that is taken for garbage; DefaultFileAge when it is zero.
	FileAge time.Duration
}

// GraceAfter returns what is time enough where requests are given so long.
func GraceAfter(requestTimeout time.Duration) time.Duration { return 2*requestTimeout + time.Second }

// DefaultFileAge is that of native Lance.
const DefaultFileAge = 7 * 24 * time.Hour

// Kind returns what jobs of [tables.MaintainKind] do.
func (k *Keeper) Kind() job.Kind {
	kind := job.Single("maintain", k.run)
	kind.Wanted = k.wanted
	return kind
}

// An Order says what is to be done to a table.
type Order struct {
	Compact bool `json:"compact,omitempty"`
	// Gradual is how jobs compact that nobody asked for: what is large already is left alone,
	// and a few small fragments are not worth it.
	Gradual bool `json:"gradual,omitempty"`

	Cleanup   bool          `json:"cleanup,omitempty"`
	Retention time.Duration `json:"retention,omitempty"` // of versions that have been replaced
	Keep      int           `json:"keep,omitempty"`      // versions, at least
}

// A Report says what was done, or in a dry run what would be.
type Report struct {
	FragmentsRemoved int                   `json:"fragments_removed"`
	FragmentsAdded   int                   `json:"fragments_added"`
	Version          int64                 `json:"version,omitempty"` // of the table, that the last compaction made
	Cleaned          dataset.CleanupReport `json:"cleaned"`
}

// progress is what a job remembers.
type progress struct {
	Phase   phase     `json:"phase"`
	Expired time.Time `json:"expired,omitzero"` // when versions were last deleted
	Report  Report    `json:"report"`
}

type phase int

const (
	compacting phase = iota
	expiring         // versions
	sweeping         // files
)

// run does a job. Each step begins on the table as it is then, so that it may be done again.
func (k *Keeper) run(ctx context.Context, r *job.Run) (any, error) {
	var order Order
	var at progress
	if err := r.Input(&order); err != nil {
		return nil, err
	}
	if err := r.State(&at); err != nil {
		return nil, err
	}
	if at.Phase == compacting && order.Compact {
		if err := k.compact(ctx, r, order, &at); err != nil {
			return nil, err
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
	if wait := at.Expired.Add(k.Grace).Sub(k.Now()); wait > 0 {
		return nil, job.Later(wait)
	}
	if err := k.sweep(ctx, r, &at); err != nil {
		return nil, err
	}
	return at.Report, nil
}

// gradual is how fragments are chosen when nobody has asked for it.
var gradual = dataset.CompactionOptions{MinFragments: 8, Tiered: true, Own: true}

func (o Order) compaction() dataset.CompactionOptions {
	if o.Gradual {
		return gradual
	}
	return dataset.CompactionOptions{}
}

// compact compacts the table, and then each of its branches, until nothing is left that is
// worth it.
func (k *Keeper) compact(ctx context.Context, r *job.Run, order Order, at *progress) error {
	if err := k.compactOne(ctx, r, order, at, ""); err != nil {
		return err
	}
	found, err := k.Tables.Names.Table(ctx, r.Object())
	if err != nil {
		return err
	}
	branches, _, err := k.Tables.At(found).Branches(ctx, "", 0)
	for _, branch := range slices.Sorted(maps.Keys(branches)) {
		if err == nil {
			err = k.compactOne(ctx, r, order, at, branch)
		}
		if protocol.CodeOf(err) == protocol.TableBranchNotFound {
			err = nil // deleted meanwhile
		}
	}
	return err
}

// compactOne compacts a branch, or the table when it is "". Each round takes some of what there
// is to do away.
func (k *Keeper) compactOne(ctx context.Context, r *job.Run, order Order, at *progress, branch string) error {
	for {
		done, err := catalog.Write(ctx, k.Tables.Names, r.Object(), func(ctx context.Context, found *catalog.Lookup) (engine.Compacted, error) {
			table, err := k.Tables.On(ctx, found.Table, branch)
			if err != nil {
				return engine.Compacted{}, err
			}
			opts := order.compaction()
			opts.Own = opts.Own || branch != ""
			done, err := table.Compact(ctx, opts, found.Confirm)
			if err == nil && done.Version > 0 && branch == "" {
				found.Hint(ctx, uint64(done.Version))
			}
			return done, err
		})
		switch {
		case order.Gradual && protocol.CodeOf(err) == protocol.ConcurrentModification:
			return nil // it is busy; there will be another time
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
		r.Progress(job.Progress{Done: steps, Total: steps + int64(done.Remaining)})
		if err := r.Checkpoint(ctx, at); err != nil {
			return err
		}
	}
}

func (k *Keeper) expire(ctx context.Context, r *job.Run, order Order, at *progress) error {
	report, err := k.onTable(ctx, r.Object(), func(ctx context.Context, t *engine.Table) (dataset.CleanupReport, error) {
		return t.ExpireVersions(ctx, k.expiry(order, false))
	})
	if err != nil {
		return err
	}
	at.Phase, at.Expired = sweeping, k.Now().UTC()
	at.Report.Cleaned = report
	r.Progress(job.Progress{})
	return r.Checkpoint(ctx, at)
}

func (k *Keeper) expiry(order Order, dry bool) dataset.Expiry {
	return dataset.Expiry{Before: k.Now().Add(-max(order.Retention, MinRetention)), Keep: order.Keep, DryRun: dry}
}

func (k *Keeper) sweep(ctx context.Context, r *job.Run, at *progress) error {
	report, err := k.onTable(ctx, r.Object(), func(ctx context.Context, t *engine.Table) (dataset.CleanupReport, error) {
		return t.DeleteOrphans(ctx, k.Now().Add(-k.fileAge()), false, func(looked int) error {
			r.Progress(job.Progress{Done: int64(looked)})
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

// onTable does work on the table that a name stands for, once: files of a table that has been
// dropped are nobody's, and a new one of its name has another place.
func (k *Keeper) onTable(ctx context.Context, id []string, work func(context.Context, *engine.Table) (dataset.CleanupReport, error)) (dataset.CleanupReport, error) {
	found, err := k.Tables.Names.Table(ctx, id)
	if err != nil {
		return dataset.CleanupReport{}, err
	}
	return work(ctx, k.Tables.At(found))
}

// DryRun tells what a job of that order would do at this moment. Files of versions that would
// be deleted are not counted: they are named until then.
func (k *Keeper) DryRun(ctx context.Context, id []string, order Order) (Report, error) {
	var report Report
	found, err := k.Tables.Names.Table(ctx, id)
	if err != nil {
		return report, err
	}
	table := k.Tables.At(found)
	if order.Compact {
		if report.FragmentsRemoved, err = table.ToCompact(ctx, order.compaction()); err != nil {
			return report, err
		}
	}
	if !order.Cleanup {
		return report, nil
	}
	if report.Cleaned, err = table.ExpireVersions(ctx, k.expiry(order, true)); err != nil {
		return report, err
	}
	orphans, err := table.DeleteOrphans(ctx, k.Now().Add(-k.fileAge()), true, func(int) error { return ctx.Err() })
	report.Cleaned.Files = orphans.Files
	report.Cleaned.Bytes += orphans.Bytes
	return report, err
}
