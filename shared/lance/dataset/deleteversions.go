package dataset

import (
	"context"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/objectstore"
)

// DeleteVersions deletes the manifests of the versions that doomed chooses, and returns how
// many. Files that only they named stay, for a cleanup to find. What is needed stays
// too: versions that have tags, those that branches were made from, and the newest one,
// unless all is set and nothing needs it: then the table is without data, as if declared.
func (t *Table) DeleteVersions(ctx context.Context, doomed func(version uint64) bool, all bool) (deleted int, err error) {
	chosen, err := t.ChooseVersions(ctx, doomed, all)
	if err != nil {
		return 0, err
	}
	var count atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(snapshot.MaxConcurrentReads)
	for _, info := range chosen {
		group.Go(func() error {
			if err := t.remove(ctx, info); err != nil {
				return err
			}
			t.session.Cache.Drop(t.at.Cached, datasetPart(info.Key))
			count.Add(1)
			return nil
		})
	}
	err = group.Wait()
	if all {
		t.session.Cache.Drop(t.at.Cached, latestPart)
	}
	return int(count.Load()), err
}

// ChooseVersions returns the manifests that DeleteVersions would delete, when they may be.
func (t *Table) ChooseVersions(ctx context.Context, doomed func(version uint64) bool, all bool) ([]objectstore.Info, error) {
	versions, err := t.Versions(ctx, nil, -1)
	if err != nil || len(versions) == 0 {
		return nil, err
	}
	needed, err := t.neededVersions(ctx)
	if err != nil {
		return nil, err
	}
	if !all {
		needed[VersionOf(versions[0])] = true
	}
	chosen := slices.DeleteFunc(versions, func(info objectstore.Info) bool {
		version := VersionOf(info)
		return needed[version] || !doomed(version)
	})
	return chosen, t.outlast(ctx, chosen)
}

// ForgetVersions is told of versions that somebody has deleted.
func (t *Table) ForgetVersions(deleted []objectstore.Info) {
	for _, info := range deleted {
		t.session.Cache.Drop(t.at.Cached, datasetPart(info.Key))
	}
	if len(deleted) > 0 {
		t.session.Cache.Drop(t.at.Cached, latestPart)
	}
}

// neededVersions returns the versions that tags name, and that branches were made from.
func (t *Table) neededVersions(ctx context.Context) (map[uint64]bool, error) {
	main, name := t, ""
	if t.branch != nil {
		main, name = t.branch.table, t.branch.name
	}
	tags, _, err := main.Tags(ctx, "", 0)
	if err != nil {
		return nil, err
	}
	branches, _, err := main.Branches(ctx, "", 0)
	if err != nil {
		return nil, err
	}
	needed := map[uint64]bool{}
	for _, tag := range tags {
		if tag.BranchName() == name {
			needed[tag.Version] = true
		}
	}
	for _, branch := range branches {
		if branch.Parent == nil && name == "" || branch.Parent != nil && *branch.Parent == name {
			needed[branch.ParentVersion] = true
		}
	}
	return needed, nil
}
