package dataset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance/dataset/refs"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/objectstore"
)

// DeleteBranch deletes a branch and the files that are its own, or returns refs.ErrNoBranch.
// While a tag names a version of it, or another branch was made from it, that is
// refs.ErrInUse. It is called on the table, not on one of its branches.
//
// The branch is gone when its name is. An error after that says that not all of its files
// could be deleted; what is left is garbage. Only files that were there before the name was
// deleted are: later ones may be those of a new branch of that name.
func (t *Table) DeleteBranch(ctx context.Context, name string) error {
	info, object, err := t.refs().Branch(ctx, name)
	if err != nil {
		return err
	}
	var files []objectstore.Info
	group, inner := errgroup.WithContext(ctx)
	group.Go(func() error {
		_, err := t.checkUnused(inner, name, info)
		return err
	})
	group.Go(func() (err error) {
		files, err = t.filesOf(inner, name)
		return err
	})
	if err := group.Wait(); err != nil {
		return err
	}
	if err := t.deleteName(ctx, name, object); err != nil {
		return err
	}
	// Somebody may have begun to refer to the branch before he could see that it is gone.
	others, err := t.checkUnused(ctx, name, info)
	if errors.Is(err, refs.ErrInUse) {
		return errors.Join(err, t.refs().PutBranch(ctx, name, info, objectstore.Condition{IfAbsent: true}))
	}
	if err == nil {
		err = t.deleteFiles(ctx, name, files, others)
	}
	if err != nil {
		return fmt.Errorf("branch %s of %s is deleted, but not all of its files: %w", name, t.at.URI, err)
	}
	return nil
}

// checkUnused returns refs.ErrInUse when a tag or another branch needs a branch, else the
// names of all other branches.
func (t *Table) checkUnused(ctx context.Context, name string, info refs.Branch) (others []string, err error) {
	var branches map[string]refs.Branch
	var tags map[string]refs.Tag
	group, inner := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		branches, _, err = t.Branches(inner, "", 0)
		return err
	})
	group.Go(func() (err error) {
		tags, _, err = t.Tags(inner, "", 0)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var users []string
	for other, b := range branches {
		if other == name {
			continue
		}
		others = append(others, other)
		if madeFrom(b, name, info) {
			users = append(users, "branch "+other)
		}
	}
	for tag, to := range tags {
		if to.BranchName() == name {
			users = append(users, "tag "+tag)
		}
	}
	if len(users) > 0 {
		slices.Sort(users)
		return nil, fmt.Errorf("%w: %s, by %s", refs.ErrInUse, name, strings.Join(users, ", "))
	}
	return others, nil
}

// madeFrom says whether a branch was made from another one, directly or not: then its
// way begins with that of the other. Of branches whose way is not known the name of the
// parent tells.
func madeFrom(b refs.Branch, name string, other refs.Branch) bool {
	way, begin := b.Identifier.Forks, other.Identifier.Forks
	if len(way) == 1 && way[0].Version == 0 {
		return b.Parent != nil && *b.Parent == name
	}
	return len(way) > len(begin) && slices.Equal(way[:len(begin)], begin)
}

// deleteName deletes the name of a branch, if it is still the one that was read.
func (t *Table) deleteName(ctx context.Context, name string, object objectstore.Info) error {
	err := t.at.Store.Delete(ctx, object.Key, objectstore.Condition{IfMatch: object.ETag})
	switch {
	case errors.Is(err, objectstore.ErrPrecondition):
		return fmt.Errorf("%w: branch %s was deleted or changed by somebody else", ErrConflict, name)
	case errors.Is(err, objectstore.ErrUnknownOutcome):
		if _, now := t.BranchInfo(ctx, name); errors.Is(now, refs.ErrNoBranch) {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("delete branch %s of %s: %w", name, t.at.URI, err)
	}
	return nil
}

// ownDirs are the directories of a table that hold its files.
var ownDirs = []string{manifest.VersionsDir, manifest.TransactionsDir, "_indices", "_deletions", "data"}

// maxOwnFiles bounds how many files of a directory are deleted with a branch. More are
// left: they harm nobody.
const maxOwnFiles = 100_000

// filesOf lists the files of a branch, and of branches whose names begin with its name and
// one of the directories.
func (t *Table) filesOf(ctx context.Context, name string) ([]objectstore.Info, error) {
	found := make([][]objectstore.Info, len(ownDirs))
	group, ctx := errgroup.WithContext(ctx)
	for i, dir := range ownDirs {
		group.Go(func() (err error) {
			found[i], err = t.filesIn(ctx, t.at.Prefix+"/"+refs.TreeDir+name+"/"+dir+"/")
			return err
		})
	}
	err := group.Wait()
	return slices.Concat(found...), err
}

func (t *Table) filesIn(ctx context.Context, prefix string) (files []objectstore.Info, err error) {
	opts := objectstore.ListOptions{Prefix: prefix, Limit: listPage}
	for info, err := range objectstore.Objects(ctx, t.at.Store, opts) {
		if err != nil {
			return nil, fmt.Errorf("list %s of %s: %w", strings.TrimPrefix(prefix, t.at.Prefix+"/"), t.at.URI, err)
		}
		if files = append(files, info); len(files) == maxOwnFiles {
			break
		}
	}
	return files, nil
}

// deleteFiles deletes the files of a branch that has no name any more. Those of other
// branches that lie among them stay.
func (t *Table) deleteFiles(ctx context.Context, name string, files []objectstore.Info, others []string) error {
	var within []string
	for _, other := range others {
		if strings.HasPrefix(other, name+"/") {
			within = append(within, t.at.Prefix+"/"+refs.TreeDir+other+"/")
		}
	}
	for part := range slices.Chunk(files, listPage) {
		group, inner := errgroup.WithContext(ctx)
		group.SetLimit(snapshot.MaxConcurrentReads)
		for _, file := range part {
			if !slices.ContainsFunc(within, func(place string) bool { return strings.HasPrefix(file.Key, place) }) {
				group.Go(func() error { return t.remove(inner, file) })
			}
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes an object, unless there is another one of its name now.
func (t *Table) remove(ctx context.Context, file objectstore.Info) error {
	err := t.at.Store.Delete(ctx, file.Key, objectstore.Condition{IfMatch: file.ETag})
	if errors.Is(err, objectstore.ErrUnknownOutcome) {
		err = t.at.Store.Delete(ctx, file.Key, objectstore.Condition{IfMatch: file.ETag})
	}
	if err != nil && !errors.Is(err, objectstore.ErrPrecondition) {
		return fmt.Errorf("delete %s of %s: %w", strings.TrimPrefix(file.Key, t.at.Prefix+"/"), t.at.URI, err)
	}
	return nil
}
