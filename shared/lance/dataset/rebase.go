package dataset

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
)

// rebase checks the change against the versions (base, newest] and returns the manifest that
// follows newest.
func (t *Table) rebase(ctx context.Context, c *Change, txn *pb.Transaction, base, newest *Dataset) (*manifest.Manifest, error) {
	op, err := t.checked(ctx, c, txn, base, newest)
	if err != nil {
		return nil, err
	}
	if c.Rebase != nil {
		if op, err = c.Rebase(ctx, newest, op); err != nil {
			return nil, err
		}
	}
	if op != txn.Operation { // as if it had been planned on the newest version
		txn.Operation, txn.ReadVersion = op, newest.Version()
		if err := t.putTransaction(ctx, txn); err != nil {
			return nil, err
		}
	}
	return c.onto(newest, op)
}

// checked returns the operation adapted to the versions (base, newest]. It fails if one of them
// conflicts with it, or with madeBefore if one of them already contains it.
func (t *Table) checked(ctx context.Context, c *Change, txn *pb.Transaction, base, newest *Dataset) (pb.Operation, error) {
	since, err := t.since(ctx, base, newest)
	if err != nil {
		return nil, err
	}
	op := txn.Operation
	for _, theirs := range since {
		if slices.Contains(CommitIDs(theirs.Transaction), txn.UUID) {
			return nil, &madeBefore{theirs.Version}
		}
		if op, err = c.after(op, theirs); err != nil {
			return nil, err
		}
	}
	return op, nil
}

// A Committed is a transaction with the version that it made.
type Committed struct {
	*pb.Transaction
	Version uint64
}

// memBytes estimates the memory of the transaction. Fragments count little, because the version
// mostly shares them.
func (c Committed) memBytes() int64 {
	const bytes, perFragment = 500, 16
	total, fragments := bytes, 0
	for key, value := range c.Properties {
		total += len(key) + len(value)
	}
	switch o := c.Operation.(type) {
	case *pb.Append:
		fragments = len(o.Fragments)
	case *pb.Delete:
		total += len(o.Predicate)
		fragments = len(o.UpdatedFragments) + len(o.DeletedFragmentIDs)
	case *pb.Update:
		fragments = len(o.UpdatedFragments) + len(o.NewFragments) + len(o.RemovedFragmentIDs)
	}
	return int64(total + perFragment*fragments)
}

// since returns the transactions of the versions (base, newest]. It fails with ErrConflict if
// newest belongs to another table, created after base's table was dropped.
func (t *Table) since(ctx context.Context, base, newest *Dataset) (since []Committed, err error) {
	replaced := fmt.Errorf("%w: the table of version %d was dropped, and another one created at its place", ErrConflict, base.Version())
	if newest.Version() <= base.Version() {
		return nil, replaced
	}
	group, beside := errgroup.WithContext(ctx)
	group.Go(func() error {
		same, err := t.isThere(beside, base)
		if errors.Is(err, ErrNoVersion) && fragment.ShareFiles(base.Fragments(), newest.Fragments()) {
			return nil // a cleanup deleted base
		}
		if errors.Is(err, ErrNoVersion) || err == nil && !same {
			return replaced
		}
		return err
	})
	group.Go(func() (err error) {
		since, err = t.Transactions(beside, base.Version(), newest)
		return err
	})
	return since, group.Wait()
}

// Transactions reads the transactions of the versions (after, newest], several at a time. Versions
// that were cleaned up are left out, as native Lance does.
func (t *Table) Transactions(ctx context.Context, after uint64, newest *Dataset) ([]Committed, error) {
	found := make([]Committed, newest.Version()-after)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(snapshot.MaxConcurrentReads)
	for i := range found {
		version := after + 1 + uint64(i)
		// The newest transactions are in memory.
		if at := int(newest.Version() - version); at < len(newest.recent) {
			found[i] = newest.recent[len(newest.recent)-1-at]
			continue
		}
		group.Go(func() error {
			d := newest
			if version < newest.Version() {
				var err error
				if d, err = t.load(ctx, version, newest.scheme()); errors.Is(err, ErrNoVersion) {
					return nil
				} else if err != nil {
					return err
				}
			}
			txn, err := d.Manifest().ReadTransaction(ctx, t.at.Store, t.at.Prefix)
			found[i] = Committed{txn, version}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(c Committed) bool { return c.Transaction == nil }), nil
}

// after returns the operation adapted to one committed transaction, or the conflict between them.
func (c *Change) after(op pb.Operation, theirs Committed) (pb.Operation, error) {
	ours := operation.Ours{Operation: op}
	if c.RowsKnown {
		ours.ReadFragment = func(id uint64) *pb.Fragment {
			if f := c.Read.Fragment(id); f != nil {
				return f.Meta
			}
			return nil
		}
	}
	switch ours.Check(theirs.Operation) {
	case operation.Redo:
		return nil, fmt.Errorf("%w: %s after the %s of version %d", errRedo, op.OperationName(), theirs.OperationName(), theirs.Version)
	case operation.Incompatible:
		return nil, fmt.Errorf("%w: %s cannot be committed after the %s of version %d", ErrConflict,
			op.OperationName(), theirs.OperationName(), theirs.Version)
	}
	return operation.Rebased(op, theirs.Operation)
}

// ErrConflict reports that a commit since the read version prevents the change. The message names
// both operations.
var ErrConflict = errors.New("conflicting change")

// errRedo reports a conflict that a new plan on the newer version may resolve.
var errRedo = fmt.Errorf("%w: work it out again on the newer version", ErrConflict)

// IsRowsChanged reports whether a write failed only because rows changed since it was planned. It
// may succeed if planned again on the newest version.
func IsRowsChanged(err error) bool { return errors.Is(err, errRedo) }
