package dataset

import (
	"context"
	"slices"
	"sync/atomic"

	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/objectstore"
)

// DeleteVersions deletes the manifests of the versions that doomed chooses, and returns how
// many. Files that only they named stay, for a cleanup to find. What is needed stays
// too: versions that have tags, those that branches were made from, and the newest one,
// unless all is set and nothing needs it: then the table is without data, as if declared. When the deletion
// breaks off, the deleted versions are the oldest of those that were made in the last two minutes.
func (t *Table) DeleteVersions(ctx context.Context, doomed func(version uint64) bool, all bool) (deleted int, err error) {
	chosen, err := t.ChooseVersions(ctx, doomed, all)
	if err != nil {
		return 0, err
	}
	var count atomic.Int64
	gone := func(info objectstore.Info) {
		t.session.Cache.Drop(t.at.Cached, datasetPart(info.Key))
		count.Add(1)
	}
	old, recent := t.byAge(chosen)
	err = t.removeAll(ctx, old, gone)
	for _, info := range slices.Backward(recent) {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = t.remove(ctx, info)
		}
		if err != nil {
			break
		}
		gone(info)
	}
	if all {
		t.session.Cache.Drop(t.at.Cached, latestPart)
	}
	return int(count.Load()), err
}

// byAge divides versions, newest first, into those that are deleted side by side and those that are deleted
// one after the other: see [manifest.Recent].
func (t *Table) byAge(versions []objectstore.Info) (old, recent []objectstore.Info) {
	now := t.session.now()
	n := 0
	for i, info := range versions {
		if manifest.Recent(info.Modified, now) {
			n = i + 1
		}
	}
	return versions[n:], versions[:n]
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
