// Package maintenance keeps a table small and fast: it compacts fragments, brings indices up to date (fold.go), and
// deletes old versions and unreferenced files. Most of its functions work on a [Family], which is a table and its
// branches.
package maintenance

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/rowerror"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/cleanup"
	"tiltyard/shared/lance/dataset/compaction"
	"tiltyard/shared/protocol"
)

// Compacted is the result of one compaction. Version is zero if there was nothing to do.
type Compacted struct {
	engine.Written
	Removed   int // fragments that were replaced
	Added     int // fragments that replaced them
	Remaining int // fragments for a later compaction
}

// maxCompactions bounds how often a compaction is repeated after conflicting commits. Writers have
// precedence, because a compaction can wait.
const maxCompactions = 3

// Compact rewrites fragments that are small or have many deleted rows, up to a bounded amount, in
// one commit. If writers keep changing these fragments, the error is ConcurrentModification.
func Compact(ctx context.Context, t *engine.Table, opts compaction.Options) (Compacted, error) {
	for range maxCompactions {
		done, err := engine.Settled(ctx, t, nil, func(ctx context.Context, d *dataset.Dataset) (compaction.Result, error) {
			return compaction.Run(ctx, d, opts)
		})
		if !dataset.IsRowsChanged(err) {
			return Compacted{engine.Made(done.Dataset), done.Removed, done.Added, done.Remaining}, err
		}
	}
	return Compacted{}, protocol.Errorf(protocol.ConcurrentModification, "table %s changes faster than it can be compacted", t.Name())
}

// A Family is a table, followed by the branches that one listing returned.
type Family []*engine.Table

// ToCompact returns the number of fragments that a compaction of the table and of its branches
// would rewrite. Fragments that a branch shares with the table count once.
func (f Family) ToCompact(ctx context.Context, opts compaction.Options) (fragments int, err error) {
	for _, one := range f {
		opts.Own = opts.Own || one.IsBranch()
		groups, err := engine.Read(ctx, one, nil, func(_ context.Context, d *dataset.Dataset) ([][]uint64, error) {
			return compaction.Plan(d, opts)
		})
		if err != nil {
			return 0, err
		}
		for _, g := range groups {
			fragments += len(g)
		}
	}
	return fragments, nil
}

// LastCommit returns a text that changes with each commit and each new or deleted branch of the family, and the time of
// the newest commit.
func (f Family) LastCommit(ctx context.Context) (versions string, made time.Time, err error) {
	for _, one := range f {
		d, err := engine.Read(ctx, one, nil, func(_ context.Context, d *dataset.Dataset) (*dataset.Dataset, error) { return d, nil })
		if err != nil {
			return "", made, err
		}
		m, branch := d.Manifest(), ""
		if m.Branch != nil {
			branch = *m.Branch
		}
		versions += fmt.Sprintf("%s@%d ", branch, m.Version)
		if m.Time().After(made) {
			made = m.Time()
		}
	}
	return versions, made, nil
}

// FamilyOf returns the table and all of its branches.
func FamilyOf(ctx context.Context, t *engine.Table) (Family, error) {
	branches, _, err := t.Data().Refs().Branches(ctx, "", 0)
	all := Family{t}
	for _, name := range slices.Sorted(maps.Keys(branches)) {
		branch, err := t.On(ctx, name)
		if protocol.CodeOf(err) == protocol.TableBranchNotFound {
			continue // the branch was deleted after it was listed
		}
		if err != nil {
			return nil, err
		}
		all = append(all, branch)
	}
	return all, t.Translate(err)
}

// ExpireVersions deletes old versions of the table and of its branches; see [cleanup.Expire]. The
// versions to spare are versions of the table.
func ExpireVersions(ctx context.Context, t *engine.Table, e cleanup.Expiry) (cleanup.Report, error) {
	var report cleanup.Report
	tables, err := FamilyOf(ctx, t)
	for _, one := range tables {
		if err != nil {
			break
		}
		var more cleanup.Report
		more, err = cleanup.Expire(ctx, one.Data(), e)
		report.Versions += more.Versions
		report.Bytes += more.Bytes
		e.Spared = nil
	}
	return report, t.Translate(err)
}

// DeleteOrphans deletes unreferenced files; see [cleanup.DeleteOrphans]. It also deletes stored row
// errors that are more than [rowerror.Retention] older than before.
func DeleteOrphans(ctx context.Context, t *engine.Table, before time.Time, dryRun bool, progress func(looked int) error) (cleanup.Report, error) {
	report, err := cleanup.DeleteOrphans(ctx, t.Data(), before, dryRun, progress)
	if err != nil {
		return report, t.Translate(err)
	}
	tables, err := FamilyOf(ctx, t)
	for _, one := range tables {
		if err != nil {
			break
		}
		var objects int
		var bytes int64
		if objects, bytes, err = rowerror.Of(one.Data()).Expire(ctx, before.Add(-rowerror.Retention), dryRun); objects > 0 {
			// The row errors are added to a copy of the cleanup's map.
			report.Files = maps.Clone(report.Files)
			if report.Files == nil {
				report.Files = map[string]int{}
			}
			report.Files[rowerror.Folder] += objects
		}
		report.Bytes += bytes
	}
	return report, err
}
