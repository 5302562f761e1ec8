package branches

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/refs"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/storage/objectstore"
)

// Delete deletes a branch of the table t and the files in its folder. t must not be a branch. The
// error is refs.ErrNoBranch, or refs.ErrInUse if a tag names a version of the branch or another
// branch was made from it.
//
// The branch ceases to exist with its name. A later error leaves unreferenced files. Only files
// listed before the deletion of the name are deleted, because later ones may belong to a new branch
// of that name.
func Delete(ctx context.Context, t *dataset.Table, name string) error {
	info, object, err := t.Refs().Branch(ctx, name)
	if err != nil {
		return err
	}
	var files []objectstore.Info
	group, inner := errgroup.WithContext(ctx)
	group.Go(func() error {
		_, err := checkUnused(inner, t, name, info)
		return err
	})
	group.Go(func() (err error) {
		files, err = filesOf(inner, t, name)
		return err
	})
	if err := group.Wait(); err != nil {
		return err
	}
	if err := deleteName(ctx, t, name, object); err != nil {
		return err
	}
	// A tag or a branch may have been created on it in the meantime.
	others, err := checkUnused(ctx, t, name, info)
	if errors.Is(err, refs.ErrInUse) {
		return errors.Join(err, t.Refs().PutBranch(ctx, name, info, objectstore.Condition{IfAbsent: true}))
	}
	if err == nil {
		err = deleteFiles(ctx, t, name, files, others)
	}
	if err != nil {
		return fmt.Errorf("branch %s of %s is deleted, but not all of its files: %w", name, t.Place().URI, err)
	}
	return nil
}

// checkUnused returns the names of all other branches, or refs.ErrInUse if a tag or another branch
// depends on the branch.
func checkUnused(ctx context.Context, t *dataset.Table, name string, info refs.Branch) (others []string, err error) {
	var branches map[string]refs.Branch
	var tags map[string]refs.Tag
	group, inner := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		branches, _, err = t.Refs().Branches(inner, "", 0)
		return err
	})
	group.Go(func() (err error) {
		tags, _, err = t.Refs().Tags(inner, "", 0)
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

// madeFrom reports whether a branch was made from another one, directly or through others: its list
// of forks then begins with the other's list. For a branch without stored forks it compares the
// name of the parent.
func madeFrom(b refs.Branch, name string, other refs.Branch) bool {
	way, begin := b.Identifier.Forks, other.Identifier.Forks
	if len(way) == 1 && way[0].Version == 0 {
		return b.Parent != nil && *b.Parent == name
	}
	return len(way) > len(begin) && slices.Equal(way[:len(begin)], begin)
}

// deleteName deletes the name of a branch, unless the object has changed since it was read.
func deleteName(ctx context.Context, t *dataset.Table, name string, object objectstore.Info) error {
	err := t.Place().Store.Delete(ctx, object.Key, objectstore.Condition{IfMatch: object.ETag})
	switch {
	case errors.Is(err, objectstore.ErrPrecondition):
		return fmt.Errorf("%w: branch %s was deleted or changed by somebody else", dataset.ErrConflict, name)
	case errors.Is(err, objectstore.ErrUnknownOutcome):
		if _, _, now := t.Refs().Branch(ctx, name); errors.Is(now, refs.ErrNoBranch) {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("delete branch %s of %s: %w", name, t.Place().URI, err)
	}
	return nil
}

// ownDirs are the directories of a table that hold its files.
var ownDirs = []string{manifest.VersionsDir, manifest.TransactionsDir, "_indices", "_deletions", "data"}

// maxOwnFiles bounds the files per directory that are deleted with a branch. Further files stay
// unreferenced.
const maxOwnFiles = 100_000

// listPage is the number of names per listing request.
const listPage = 1000

// filesOf lists the files in the folder of a branch. The result may include files of nested
// branches whose names continue with one of ownDirs, such as b/data.
func filesOf(ctx context.Context, t *dataset.Table, name string) ([]objectstore.Info, error) {
	found := make([][]objectstore.Info, len(ownDirs))
	group, ctx := errgroup.WithContext(ctx)
	for i, dir := range ownDirs {
		group.Go(func() (err error) {
			found[i], err = filesIn(ctx, t, t.Place().Prefix+"/"+refs.TreeDir+name+"/"+dir+"/")
			return err
		})
	}
	err := group.Wait()
	return slices.Concat(found...), err
}

// filesIn lists up to maxOwnFiles files whose keys begin with a prefix.
func filesIn(ctx context.Context, t *dataset.Table, prefix string) (files []objectstore.Info, err error) {
	opts := objectstore.ListOptions{Prefix: prefix, Limit: listPage}
	for info, err := range objectstore.Objects(ctx, t.Place().Store, opts) {
		if err != nil {
			return nil, fmt.Errorf("list %s of %s: %w", strings.TrimPrefix(prefix, t.Place().Prefix+"/"), t.Place().URI, err)
		}
		if files = append(files, info); len(files) == maxOwnFiles {
			break
		}
	}
	return files, nil
}

// deleteFiles deletes the files of a deleted branch, except files in the folders of other branches.
func deleteFiles(ctx context.Context, t *dataset.Table, name string, files []objectstore.Info, others []string) error {
	var within []string
	for _, other := range others {
		if strings.HasPrefix(other, name+"/") {
			within = append(within, t.Place().Prefix+"/"+refs.TreeDir+other+"/")
		}
	}
	for part := range slices.Chunk(files, listPage) {
		group, inner := errgroup.WithContext(ctx)
		group.SetLimit(snapshot.MaxConcurrentReads)
		for _, file := range part {
			if !slices.ContainsFunc(within, func(place string) bool { return strings.HasPrefix(file.Key, place) }) {
				group.Go(func() error { return t.Remove(inner, file) })
			}
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	return nil
}
