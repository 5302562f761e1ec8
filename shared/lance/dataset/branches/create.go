package branches

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/clone"
	"tiltyard/shared/lance/dataset/refs"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/storage/objectstore"
)

// A branch is created in two steps. The first writes its first version, a clone of the source
// version. The second puts the object with its name, if absent. A crash between the two leaves a
// clone without a name, which no reader sees. The next creator of a branch of that name replaces an
// equal clone in place: the clone then never disappears, and a concurrent deletion by ETag fails. A
// different clone is removed, unless it is so young that its creator may still put the name.
const (
	// putTime bounds the put of the name. It may outlive the request, because its outcome must be
	// learnt.
	putTime     = 30 * time.Second
	maxForkTime = 20 * time.Second // from the clone to the put of the name
	youngClone  = 2 * time.Minute  // more than maxForkTime, because clocks differ
)

// Create makes a branch from a version of another branch, or from the table t itself if from is ""
// or refs.Main. Version 0 means the newest. It returns the first version of the new branch. t must
// not be a branch.
//
// The error is refs.ErrName or refs.ErrExists for the name, refs.ErrNoBranch or
// dataset.ErrNoVersion for the source, or dataset.ErrConflict if another writer creates a different
// branch of the same name at the same time.
func Create(ctx context.Context, t *dataset.Table, name, from string, version uint64) (*dataset.Dataset, error) {
	switch _, _, err := t.Refs().Branch(ctx, name); {
	case err == nil:
		return nil, &refs.NameError{Err: refs.ErrExists, What: "branch", Name: name, URI: t.Place().URI}
	case !errors.Is(err, refs.ErrNoBranch):
		return nil, err
	}
	source, info, err := fork(ctx, t, from, version)
	if err != nil {
		return nil, err
	}
	place, began := t.Branch(name, info), t.Now()
	first, err := cloneOnce(ctx, place, source, name)
	if err != nil {
		return nil, err
	}
	if t.Now().Sub(began) > maxForkTime {
		return nil, fmt.Errorf("%w: the making of branch %s took too long", dataset.ErrConflict, name)
	}
	if err := putBranch(ctx, t, name, info, first); err != nil {
		return nil, err
	}
	return first, checkParent(ctx, t, name, info)
}

// fork opens the version that a branch is made from and returns the record of the branch.
func fork(ctx context.Context, t *dataset.Table, from string, version uint64) (*dataset.Dataset, refs.Branch, error) {
	on, info := t, refs.Branch{Created: t.Now().Unix(), Metadata: map[string]string{}}
	if !refs.IsMain(from) {
		parent, _, err := t.Refs().Branch(ctx, from)
		if err != nil {
			return nil, info, err
		}
		on, info.Parent, info.Identifier = t.Branch(from, parent), &from, parent.Identifier
	}
	source, err := on.Latest(ctx)
	if err == nil && version != 0 && version != source.Version() {
		if _, err = on.Info(ctx, version); err == nil { // the cached version may have been cleaned up
			source, err = on.Version(ctx, version)
		}
	}
	if err != nil {
		return nil, info, err
	}
	id := strings.ReplaceAll(uuid.NewString(), "-", "")
	info.Identifier.Forks = append(slices.Clip(info.Identifier.Forks), refs.Fork{Version: source.Version(), ID: id})
	info.ParentVersion, info.ManifestBytes = source.Version(), source.Manifest().Location.Size
	return source, info, nil
}

// cloneOnce commits the first version of an unnamed branch at its location t.
func cloneOnce(ctx context.Context, t *dataset.Table, source *dataset.Dataset, branch string) (*dataset.Dataset, error) {
	op := clone.Operation(source, branch)
	same, err := empty(ctx, t, op)
	if err != nil {
		return nil, err
	}
	if same != nil {
		return replaceClone(ctx, t, source, op, *same)
	}
	first, err := t.Commit(ctx, clone.Change(source, op))
	if errors.Is(err, dataset.ErrTableExists) {
		return nil, fmt.Errorf("%w: somebody else makes branch %s", dataset.ErrConflict, branch)
	}
	if err != nil {
		return nil, err
	}
	// If two writers create the branch from different versions, at least one sees the other.
	there, err := t.Versions(ctx, nil, 2)
	if err == nil && len(there) > 1 {
		err = fmt.Errorf("%w: somebody else makes branch %s of another version", dataset.ErrConflict, branch)
		return nil, errors.Join(err, removeVersion(ctx, t, first))
	}
	return first, err
}

// empty removes the versions of deleted branches at t, the location of an unnamed branch. It keeps
// and returns an existing clone that equals op. The error is dataset.ErrConflict if another writer
// may be creating the branch.
func empty(ctx context.Context, t *dataset.Table, op *pb.Clone) (same *objectstore.Info, err error) {
	there, err := t.Versions(ctx, nil, -1)
	if err != nil {
		return nil, err
	}
	committed := uint64(0) // the version examined before, if it is no clone
	for _, info := range there {
		young := t.Now().Sub(info.Modified) < youngClone
		if !young && len(there) > 1 {
			continue
		}
		made := cloneAt(ctx, t, info)
		switch {
		case made == nil:
			committed = dataset.VersionOf(info)
		case len(there) == 1 && sameClone(made, op):
			return &there[0], nil
		case young && dataset.VersionOf(info)+1 != committed: // otherwise it belongs to a branch that existed
			return nil, fmt.Errorf("%w: branch %s is being made of another version, or was not finished just now", dataset.ErrConflict, *op.BranchName)
		}
	}
	for _, info := range there {
		if err := t.Remove(ctx, info); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// replaceClone replaces a clone by an equal one.
func replaceClone(ctx context.Context, t *dataset.Table, source *dataset.Dataset, op *pb.Clone, same objectstore.Info) (*dataset.Dataset, error) {
	made, err := t.Recommit(ctx, clone.Change(source, op), same)
	if errors.Is(err, objectstore.ErrPrecondition) {
		return nil, fmt.Errorf("%w: somebody else makes or deletes branch %s", dataset.ErrConflict, *op.BranchName)
	}
	return made, err
}

// removeVersion removes a version that no other process has seen.
func removeVersion(ctx context.Context, t *dataset.Table, d *dataset.Dataset) error {
	at := d.Manifest().Location
	return t.Remove(ctx, objectstore.Info{Key: at.Key, ETag: at.ETag})
}

// cloneAt returns the clone that made a version. It returns nil if another operation made it or the
// version is unreadable.
func cloneAt(ctx context.Context, t *dataset.Table, info objectstore.Info) *pb.Clone {
	m, err := manifest.Read(ctx, t.Place().Store, info.Key, info.Size)
	if err != nil {
		return nil
	}
	txn, err := m.ReadTransaction(ctx, t.Place().Store, t.Place().Prefix)
	if err != nil {
		return nil
	}
	clone, _ := txn.Operation.(*pb.Clone)
	return clone
}

func sameClone(a, b *pb.Clone) bool {
	same := func(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }
	return a.IsShallow == b.IsShallow && a.RefVersion == b.RefVersion && a.RefPath == b.RefPath &&
		same(a.RefName, b.RefName) && same(a.BranchName, b.BranchName)
}

// putBranch puts the name of a branch. If that fails, the clone stays until the next maker removes it.
func putBranch(ctx context.Context, t *dataset.Table, name string, info refs.Branch, first *dataset.Dataset) error {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), putTime)
	defer done()
	err := t.Refs().PutBranch(ctx, name, info, objectstore.Condition{IfAbsent: true})
	if !errors.Is(err, objectstore.ErrPrecondition) && !errors.Is(err, objectstore.ErrUnknownOutcome) {
		return err
	}
	// An earlier attempt of this request may have put the name and lost its answer.
	theirs, _, read := t.Refs().Branch(ctx, name)
	switch {
	case errors.Is(read, refs.ErrNoBranch) && errors.Is(err, objectstore.ErrPrecondition):
		return fmt.Errorf("%w: branch %s was made and deleted by somebody else", dataset.ErrConflict, name)
	case read != nil:
		return fmt.Errorf("make branch %s of %s: %w", name, t.Place().URI, errors.Join(objectstore.ErrUnknownOutcome, err, read))
	case theirs.Incarnation() == info.Incarnation():
		return nil
	}
	err = &refs.NameError{Err: refs.ErrExists, What: "branch", Name: name, URI: t.Place().URI}
	if theirs.ParentVersion != info.ParentVersion {
		return errors.Join(err, removeVersion(ctx, t, first))
	}
	return err
}

// checkParent deletes a new branch whose parent was deleted in the meantime: that deletion may have
// missed the new branch.
func checkParent(ctx context.Context, t *dataset.Table, name string, info refs.Branch) error {
	if info.Parent == nil {
		return nil
	}
	forks := info.Identifier.Forks
	parent, _, err := t.Refs().Branch(ctx, *info.Parent)
	if err == nil && parent.Incarnation() == forks[len(forks)-2].ID {
		return nil
	}
	if err != nil && !errors.Is(err, refs.ErrNoBranch) {
		return fmt.Errorf("branch %s of %s is made, but not that its parent is still there: %w", name, t.Place().URI, err)
	}
	gone := fmt.Errorf("%w: %s", refs.ErrNoBranch, *info.Parent)
	return errors.Join(gone, Delete(ctx, t, name))
}
