package cleanup

import (
	"context"
	"slices"
	"sync/atomic"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/process/backoff"
	"tiltyard/shared/storage/objectstore"
)

// DeleteVersions deletes the manifests of the versions selected by doomed and returns their number.
// The files stay for DeleteOrphans. Tagged versions and fork points of branches stay, and so does
// the newest version unless all is true. A table without versions has no data, like a declared one.
// Versions of the last two minutes are deleted oldest first, so that an interrupted deletion leaves
// no gap among them.
func DeleteVersions(ctx context.Context, t *dataset.Table, doomed func(version uint64) bool, all bool) (deleted int, err error) {
	chosen, err := Choose(ctx, t, doomed, all)
	if err != nil {
		return 0, err
	}
	var count atomic.Int64
	gone := func(info objectstore.Info) {
		t.Forget(info)
		count.Add(1)
	}
	old, recent := byAge(t, chosen)
	err = removeAll(ctx, t, old, gone)
	for _, info := range slices.Backward(recent) {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = t.Remove(ctx, info)
		}
		if err != nil {
			break
		}
		gone(info)
	}
	return int(count.Load()), err
}

// byAge splits versions, newest first, into old ones, which may be deleted in parallel, and recent
// ones, which must be deleted one by one; see [manifest.Recent].
func byAge(t *dataset.Table, versions []objectstore.Info) (old, recent []objectstore.Info) {
	now := t.Now()
	n := 0
	for i, info := range versions {
		if manifest.Recent(info.Modified, now) {
			n = i + 1
		}
	}
	return versions[n:], versions[:n]
}

// Choose returns the manifests that DeleteVersions would delete. It first waits until they may be
// deleted.
func Choose(ctx context.Context, t *dataset.Table, doomed func(version uint64) bool, all bool) ([]objectstore.Info, error) {
	versions, err := t.Versions(ctx, nil, -1)
	if err != nil || len(versions) == 0 {
		return nil, err
	}
	needed, err := neededVersions(ctx, t)
	if err != nil {
		return nil, err
	}
	if !all {
		needed[dataset.VersionOf(versions[0])] = true
	}
	chosen := slices.DeleteFunc(versions, func(info objectstore.Info) bool {
		version := dataset.VersionOf(info)
		return needed[version] || !doomed(version)
	})
	return chosen, outlast(ctx, t, chosen)
}

// neededVersions returns the tagged versions and the fork points of branches.
func neededVersions(ctx context.Context, t *dataset.Table) (map[uint64]bool, error) {
	main, name := t.Main()
	tags, _, err := main.Refs().Tags(ctx, "", 0)
	if err != nil {
		return nil, err
	}
	branches, _, err := main.Refs().Branches(ctx, "", 0)
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

// outlast waits until young versions may be deleted: another writer may just have listed them and
// be about to put the next version.
func outlast(ctx context.Context, t *dataset.Table, versions []objectstore.Info) error {
	young := t.Now().Add(-dataset.MaxClockSkew - manifest.FreshFor)
	if !slices.ContainsFunc(versions, func(info objectstore.Info) bool { return info.Modified.After(young) }) {
		return nil
	}
	return backoff.Sleep(ctx, manifest.FreshFor)
}
