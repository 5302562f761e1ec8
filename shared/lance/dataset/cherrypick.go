package dataset

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance/dataset/cherrypick"
	"tiltyard/shared/lance/dataset/refs"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
)

// ErrNotPicked says that a branch cannot be cherry-picked. The problems of its difference tell why.
var ErrNotPicked = errors.New("the branch cannot be cherry-picked")

// DiffBranch compares a branch with the table that it is of. It is called on the table, not on one of
// its branches. The error is refs.ErrNoBranch, or ErrNoVersion when the version that the branch was
// made of is gone.
func (t *Table) DiffBranch(ctx context.Context, name string) (*cherrypick.Diff, error) {
	diff, _, err := t.diffBranch(ctx, name)
	return diff, err
}

// diffBranch is DiffBranch that also returns the version of the table that it compared.
func (t *Table) diffBranch(ctx context.Context, name string) (*cherrypick.Diff, *Dataset, error) {
	if refs.IsMain(name) {
		return nil, nil, fmt.Errorf("%w: %q is the table itself", refs.ErrName, name)
	}
	info, err := t.BranchInfo(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	branch, err := t.OpenBranch(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	parent := t
	if info.Parent != nil {
		if parent, err = t.OpenBranch(ctx, *info.Parent); err != nil {
			return nil, nil, err
		}
	}
	main, err := t.Latest(ctx)
	if err != nil {
		return nil, nil, err
	}
	newest, err := branch.Latest(ctx)
	if err != nil {
		return nil, nil, err
	}
	fork := main
	if parent != t || info.ParentVersion != main.Version() {
		if fork, err = parent.Version(ctx, info.ParentVersion); err != nil {
			return nil, nil, fmt.Errorf("the version that branch %s was made of: %w", name, err)
		}
	}
	diff, err := cherrypick.Compare(ctx, cherrypick.Sides{
		Fork: fork.Snapshot, Main: main.Snapshot, Branch: newest.Snapshot, FromMain: parent == t,
		MainCommits: main.commitOf, BranchCommits: newest.commitOf,
	})
	return diff, main, err
}

// CherryPick adds the columns that a branch has added to the table, all of them or none. The values
// are copied, because the files of the branch go when it is deleted. Before the commit nothing but
// these copies is there, which are garbage without it. The error is ErrNotPicked when the difference,
// which is then returned, has problems: among them that others have committed to the table.
func (t *Table) CherryPick(ctx context.Context, name string) (*Dataset, *cherrypick.Diff, error) {
	diff, main, err := t.diffBranch(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	if len(diff.Problems) > 0 {
		return nil, diff, fmt.Errorf("%w: %s", ErrNotPicked, diff.Problems[0].Message)
	}
	made, err := t.pick(ctx, diff, main)
	if !errors.Is(err, ErrConflict) {
		return made, diff, err
	}
	again, _, failed := t.diffBranch(ctx, name)
	if failed != nil || len(again.Problems) == 0 {
		return nil, nil, errors.Join(err, failed)
	}
	return nil, again, fmt.Errorf("%w: %w", ErrNotPicked, err)
}

// pick copies the files of a difference without problems and commits them to the version that was
// compared, and to no later one.
func (t *Table) pick(ctx context.Context, diff *cherrypick.Diff, main *Dataset) (*Dataset, error) {
	if err := operation.CheckWritable(main.Manifest()); err != nil {
		return nil, err
	}
	files, err := diff.Files()
	if err != nil {
		return nil, err
	}
	copies := make([]string, len(files))
	group, beside := errgroup.WithContext(ctx)
	group.SetLimit(maxCopies)
	for i, file := range files {
		group.Go(func() (err error) {
			store, key, err := file.Place()
			if err == nil {
				copies[i], err = t.place().CopyFile(beside, store, key, file.Blobs)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return t.commit(ctx, &change{read: main, operation: diff.Merge(files, copies), rebase: onlyOnto(main)})
}

// maxCopies bounds the files that are copied side by side.
const maxCopies = snapshot.MaxConcurrentReads / 4

// onlyOnto refuses to commit an operation to a later version than that it was worked out on.
func onlyOnto(read *Dataset) func(context.Context, *Dataset, pb.Operation) (pb.Operation, error) {
	return func(_ context.Context, base *Dataset, _ pb.Operation) (pb.Operation, error) {
		return nil, fmt.Errorf("%w: the table went from version %d to version %d", ErrConflict, read.Version(), base.Version())
	}
}
