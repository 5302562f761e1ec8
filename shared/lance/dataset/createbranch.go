package dataset

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"tiltyard/shared/lance/dataset/refs"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/objectstore"
)

// A branch is made in two steps: its first version, which is a clone of the version that
// it is made from, and then the object with its name. Only that makes it a branch; it is
// put if it is absent. A crash between the two leaves a clone that nobody sees. Who makes
// a branch of that name later replaces the clone when his would be the same, so that none
// is missing at any time, and whoever was about to delete it finds another one. Else he
// removes it, unless it is so young that its maker may be about to put the name.
const (
	maxForkTime = 20 * time.Second // from before the clone to the put of the name
	youngClone  = 2 * time.Minute  // and some more, as clocks differ
)

// CreateBranch makes a branch of a version of another one, or of the table itself when from
// is "" or refs.Main; version 0 is the newest. It is called on the table, not on one of
// its branches, and returns the first version of the new one.
//
// The error is refs.ErrName, refs.ErrExists, refs.ErrNoBranch or ErrNoVersion of what it is to be
// made from, or ErrConflict when others make the same branch otherwise at the same time.
func (t *Table) CreateBranch(ctx context.Context, name, from string, version uint64) (*Dataset, error) {
	switch _, err := t.BranchInfo(ctx, name); {
	case err == nil:
		return nil, &refs.NameError{Err: refs.ErrExists, What: "branch", Name: name, URI: t.at.URI}
	case !errors.Is(err, refs.ErrNoBranch):
		return nil, err
	}
	source, info, err := t.fork(ctx, from, version)
	if err != nil {
		return nil, err
	}
	place, began := t.branchPlace(name, info), t.session.now()
	first, err := place.cloneOnce(ctx, source, name)
	if err != nil {
		return nil, err
	}
	if t.session.now().Sub(began) > maxForkTime {
		return nil, fmt.Errorf("%w: the making of branch %s took too long", ErrConflict, name)
	}
	if err := t.putBranch(ctx, name, info, first); err != nil {
		return nil, err
	}
	return first, t.checkParent(ctx, name, info)
}

// fork opens the version that a branch is made from, and returns what is to be stored of
// the branch.
func (t *Table) fork(ctx context.Context, from string, version uint64) (*Dataset, refs.Branch, error) {
	on, info := t, refs.Branch{Created: t.session.now().Unix(), Metadata: map[string]string{}}
	if !refs.IsMain(from) {
		parent, err := t.BranchInfo(ctx, from)
		if err != nil {
			return nil, info, err
		}
		on, info.Parent, info.Identifier = t.branchPlace(from, parent), &from, parent.Identifier
	}
	source, err := on.Latest(ctx)
	if err == nil && version != 0 && version != source.Version() {
		if _, err = on.find(ctx, version); err == nil { // what is cached may have been cleaned up
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

// cloneOnce makes the first version of a branch that has no name yet, at its place t.
func (t *Table) cloneOnce(ctx context.Context, source *Dataset, branch string) (*Dataset, error) {
	op := source.cloneOf(branch)
	same, err := t.clear(ctx, op)
	if err != nil {
		return nil, err
	}
	if same != nil {
		return t.replaceClone(ctx, source, op, *same)
	}
	first, err := source.cloneTo(ctx, t, op)
	if errors.Is(err, ErrTableExists) {
		return nil, fmt.Errorf("%w: somebody else makes branch %s", ErrConflict, branch)
	}
	if err != nil {
		return nil, err
	}
	// Of two that make the branch of different versions, at least one sees the other.
	there, err := t.Versions(ctx, nil, 2)
	if err == nil && len(there) > 1 {
		err = fmt.Errorf("%w: somebody else makes branch %s of another version", ErrConflict, branch)
		return nil, errors.Join(err, t.removeVersion(ctx, first))
	}
	return first, err
}

// clear removes what is at the place of a branch that has no name: versions of branches
// that were deleted. A clone that is the same as one to be made is returned instead. What
// may be the work of somebody else who makes the branch now is ErrConflict.
func (t *Table) clear(ctx context.Context, op *pb.Clone) (same *objectstore.Info, err error) {
	there, err := t.Versions(ctx, nil, -1)
	if err != nil {
		return nil, err
	}
	committed := uint64(0) // a version that is no clone, the one above that looked at
	for _, info := range there {
		young := t.session.now().Sub(info.Modified) < youngClone
		if !young && len(there) > 1 {
			continue
		}
		clone := t.cloneAt(ctx, info)
		switch {
		case clone == nil:
			committed = VersionOf(info)
		case len(there) == 1 && sameClone(clone, op):
			return &there[0], nil
		case young && VersionOf(info)+1 != committed: // else there was a branch
			return nil, fmt.Errorf("%w: branch %s is being made of another version, or was not finished just now", ErrConflict, *op.BranchName)
		}
	}
	for _, info := range there {
		if err := t.remove(ctx, info); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// replaceClone puts a clone in place of one that is the same.
func (t *Table) replaceClone(ctx context.Context, source *Dataset, op *pb.Clone, same objectstore.Info) (*Dataset, error) {
	first, err := operation.Cloned(source.Manifest(), op)
	if err != nil {
		return nil, err
	}
	txn := t.transaction(ctx, &change{operation: op})
	if err := t.putTransaction(ctx, txn); err != nil {
		return nil, err
	}
	first.SetTime(t.session.now())
	first.TransactionFile = manifest.TransactionName(txn.ReadVersion, txn.UUID)
	file, err := first.Encode(txn)
	if err != nil {
		return nil, err
	}
	sent := t.session.now()
	info, err := t.at.Store.Put(ctx, same.Key, file, objectstore.Condition{IfMatch: same.ETag})
	if errors.Is(err, objectstore.ErrPrecondition) {
		return nil, fmt.Errorf("%w: somebody else makes or deletes branch %s", ErrConflict, *op.BranchName)
	}
	if err != nil {
		return nil, fmt.Errorf("replace %s of %s: %w", same.Key, t.at.URI, err)
	}
	_, scheme, _ := manifest.ParseName(path.Base(same.Key))
	return t.made(first, info, scheme, nil, sent)
}

// removeVersion removes a version that nobody else has seen.
func (t *Table) removeVersion(ctx context.Context, d *Dataset) error {
	at := d.Manifest().Location
	return t.remove(ctx, objectstore.Info{Key: at.Key, ETag: at.ETag})
}

// cloneAt returns the clone that made a version, nil when it was not one. A version that
// cannot be read is not in anybody's way.
func (t *Table) cloneAt(ctx context.Context, info objectstore.Info) *pb.Clone {
	m, err := manifest.Read(ctx, t.at.Store, info.Key, info.Size)
	if err != nil {
		return nil
	}
	txn, err := m.ReadTransaction(ctx, t.at.Store, t.at.Prefix)
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

// putBranch gives a branch its name. The clone stays when that fails: it is in the way of
// nobody for long.
func (t *Table) putBranch(ctx context.Context, name string, info refs.Branch, first *Dataset) error {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), putTime)
	defer done()
	err := t.refs().PutBranch(ctx, name, info, objectstore.Condition{IfAbsent: true})
	if !errors.Is(err, objectstore.ErrPrecondition) && !errors.Is(err, objectstore.ErrUnknownOutcome) {
		return err
	}
	// It may have been us: an earlier try of the same request, whose answer was lost.
	theirs, read := t.BranchInfo(ctx, name)
	switch {
	case errors.Is(read, refs.ErrNoBranch) && errors.Is(err, objectstore.ErrPrecondition):
		return fmt.Errorf("%w: branch %s was made and deleted by somebody else", ErrConflict, name)
	case read != nil:
		return fmt.Errorf("make branch %s of %s: %w", name, t.at.URI, errors.Join(objectstore.ErrUnknownOutcome, err, read))
	case theirs.Incarnation() == info.Incarnation():
		return nil
	}
	err = &refs.NameError{Err: refs.ErrExists, What: "branch", Name: name, URI: t.at.URI}
	if theirs.ParentVersion != info.ParentVersion {
		return errors.Join(err, t.removeVersion(ctx, first))
	}
	return err
}

// checkParent takes a branch back when the one that it was made from has been deleted
// meanwhile. Whoever deleted it may have seen the new one, and may not.
func (t *Table) checkParent(ctx context.Context, name string, info refs.Branch) error {
	if info.Parent == nil {
		return nil
	}
	forks := info.Identifier.Forks
	parent, err := t.BranchInfo(ctx, *info.Parent)
	if err == nil && parent.Incarnation() == forks[len(forks)-2].ID {
		return nil
	}
	if err != nil && !errors.Is(err, refs.ErrNoBranch) {
		return fmt.Errorf("branch %s of %s is made, but not that its parent is still there: %w", name, t.at.URI, err)
	}
	gone := fmt.Errorf("%w: %s", refs.ErrNoBranch, *info.Parent)
	return errors.Join(gone, t.DeleteBranch(ctx, name))
}
