package dataset

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
)

// Commit commits an operation that was worked out on d and needs nothing but to be
// committed, as its files are durable: adding and dropping indices, changing config and
// metadata, adding base paths, and what callers made up themselves, such as a Project to
// another order of columns or a DataReplacement.
//
// A Delete or Update in this form is not rebased over others that delete rows of the same
// fragments; Delete and Replace are. IsRowsChanged says whether to try again on the newest
// version. An operation that does not fit the table is operation.ErrInvalid.
func (d *Dataset) Commit(ctx context.Context, op pb.Operation) (*Dataset, error) {
	return d.table.commit(ctx, &change{read: d, operation: op})
}

// Restore makes an old version the newest again, as a new version. What was committed
// since stays in the versions between. It returns ErrNoVersion when there is no such one.
func (t *Table) Restore(ctx context.Context, version uint64) (*Dataset, error) {
	ctx, done := context.WithCancel(ctx)
	defer done()
	g, err := t.guess(ctx)
	if err != nil {
		return nil, err
	}
	old, err := t.Version(ctx, version)
	if err != nil {
		return nil, err
	}
	return t.commit(ctx, &change{
		read: g.read, operation: &pb.Restore{Version: version}, guess: g,
		apply: func(base *Dataset, _ pb.Operation) (*manifest.Manifest, error) {
			return operation.Restored(base.Manifest(), old.Manifest())
		},
	})
}

// Clone makes a table at another place, or a branch of this one (then branch is its name),
// that begins as the version d with its number. It has no files of its own: it refers to
// those of d, whose place must stay. It returns ErrTableExists when there is a table.
func (d *Dataset) Clone(ctx context.Context, to *Table, branch string) (*Dataset, error) {
	if err := d.checkFree(ctx, to); err != nil {
		return nil, err
	}
	return d.cloneTo(ctx, to, d.cloneOf(branch))
}

// DeepClone makes a table at another place that begins as the version d with its number, like Clone,
// but has copies of all files of d. Before the commit there is nothing but these copies, which are
// garbage without it.
func (d *Dataset) DeepClone(ctx context.Context, to *Table) (*Dataset, error) {
	if err := d.checkFree(ctx, to); err != nil {
		return nil, err
	}
	if err := operation.CheckWritable(d.Manifest()); err != nil {
		return nil, err
	}
	group, beside := errgroup.WithContext(ctx)
	group.SetLimit(maxCopies)
	for file, err := range d.Objects(beside) {
		if err != nil {
			return nil, errors.Join(err, group.Wait())
		}
		if beside.Err() != nil {
			break
		}
		group.Go(func() error { return to.place().CopyTo(beside, file.Path, file.Store, file.Key) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	op := d.cloneOf("")
	op.IsShallow = false
	return d.cloneTo(ctx, to, op)
}

// checkFree returns ErrTableExists when there is a table at the place of a clone. The commit itself
// only sees whether there is a version of its number.
func (d *Dataset) checkFree(ctx context.Context, to *Table) error {
	_, err := to.list(ctx)
	if errors.Is(err, ErrNoTable) {
		return nil
	}
	if err == nil {
		err = ErrTableExists
	}
	return fmt.Errorf("clone %s to %s: %w", d.table.at.URI, to.at.URI, err)
}

// cloneOf returns the operation that makes the clone.
func (d *Dataset) cloneOf(branch string) *pb.Clone {
	op := &pb.Clone{IsShallow: true, RefName: d.Manifest().Branch, RefVersion: d.Version(), RefPath: d.table.at.URI}
	if branch != "" {
		op.BranchName = &branch
	}
	return op
}

func (d *Dataset) cloneTo(ctx context.Context, to *Table, op *pb.Clone) (*Dataset, error) {
	return to.commit(ctx, &change{
		operation: op,
		apply: func(*Dataset, pb.Operation) (*manifest.Manifest, error) {
			return operation.Cloned(d.Manifest(), op)
		},
	})
}

// WriteFragments writes rows as new files and returns when they are durable, for an
// operation that is to be committed later. Columns are matched as for Table.Append. What
// is not committed is garbage.
func (d *Dataset) WriteFragments(ctx context.Context, rows Rows) ([]*pb.Fragment, error) {
	files, err := d.stageRows(ctx, rows)
	if err != nil {
		return nil, err
	}
	return files.Fragments, files.Wait()
}
