package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
)

// Compacted is what one compaction did. Its Version is zero when there was nothing to do.
type Compacted struct {
	Written
	Removed   int // fragments
	Added     int // that took their place
	Remaining int // fragments that are left for another time
}

// maxCompactions bounds how often a compaction is done over because others were quicker: they
// come first, and it can wait.
const maxCompactions = 3

// Compact does what is worth it of a compaction, up to a good deal, as one commit. When writers
// keep changing what it compacts the error is ConcurrentModification. confirm is as for Insert.
func (t *Table) Compact(ctx context.Context, opts dataset.CompactionOptions, confirm func() error) (Compacted, error) {
	for range maxCompactions {
		done, err := Read(ctx, t, nil, func(ctx context.Context, d *dataset.Dataset) (dataset.Compacted, error) {
			return d.Compact(ctx, opts, confirm)
		})
		if !dataset.IsRowsChanged(err) {
			return Compacted{written(dataset.Commit{Dataset: done.Dataset}), done.Removed, done.Added, done.Remaining}, err
		}
	}
	return Compacted{}, protocol.Errorf(protocol.ConcurrentModification, "table %s changes faster than it can be compacted", t.name)
}

// ToCompact returns how many fragments a compaction of the table, and of what its branches have
// of their own, would rewrite.
func (t *Table) ToCompact(ctx context.Context, opts dataset.CompactionOptions) (fragments int, err error) {
	tables, err := t.withBranches(ctx)
	for _, one := range tables {
		if err != nil {
			break
		}
		opts.Own = opts.Own || one.onBranch
		var groups [][]uint64
		groups, err = Read(ctx, one, nil, func(_ context.Context, d *dataset.Dataset) ([][]uint64, error) {
			return d.PlanCompaction(opts)
		})
		for _, g := range groups {
			fragments += len(g)
		}
	}
	return fragments, err
}

// withBranches returns the table and its branches, which are as On returns them.
func (t *Table) withBranches(ctx context.Context) ([]*Table, error) {
	branches, _, err := t.data.Branches(ctx, "", 0)
	all := []*Table{t}
	for _, name := range slices.Sorted(maps.Keys(branches)) {
		branch, err := t.On(ctx, name)
		if protocol.CodeOf(err) == protocol.TableBranchNotFound {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		all = append(all, branch)
	}
	return all, t.translate(err)
}

// ExpireVersions is [dataset.Table.ExpireVersions] of the table and of its branches.
func (t *Table) ExpireVersions(ctx context.Context, e dataset.Expiry) (dataset.CleanupReport, error) {
	var report dataset.CleanupReport
	tables, err := t.withBranches(ctx)
	for _, one := range tables {
		if err != nil {
			break
		}
		var more dataset.CleanupReport
		more, err = one.data.ExpireVersions(ctx, e)
		report.Versions += more.Versions
		report.Bytes += more.Bytes
	}
	return report, t.translate(err)
}

// DeleteOrphans is [dataset.Table.DeleteOrphans].
func (t *Table) DeleteOrphans(ctx context.Context, before time.Time, dryRun bool, progress func(looked int) error) (dataset.CleanupReport, error) {
	report, err := t.data.DeleteOrphans(ctx, before, dryRun, progress)
	return report, t.translate(err)
}
