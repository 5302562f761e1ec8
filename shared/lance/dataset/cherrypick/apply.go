package cherrypick

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/branches"
	"tiltyard/shared/lance/dataset/difference"
	"tiltyard/shared/lance/dataset/refs"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
)

// ErrNotPicked reports that a branch cannot be cherry-picked because of the problems in its [Diff].
var ErrNotPicked = errors.New("the branch cannot be cherry-picked")

// DiffOf compares a branch of the table t with t. The error is refs.ErrName for the name of t
// itself, refs.ErrNoBranch, or dataset.ErrNoVersion if the version at which the branch forked is
// gone.
func DiffOf(ctx context.Context, t *dataset.Table, name string) (*Diff, error) {
	diff, _, err := compare(ctx, t, name)
	return diff, err
}

// compare returns the diff of a branch and the version of t that it was compared with.
func compare(ctx context.Context, t *dataset.Table, name string) (*Diff, *dataset.Dataset, error) {
	if refs.IsMain(name) {
		return nil, nil, fmt.Errorf("%w: %q is the table itself", refs.ErrName, name)
	}
	info, _, err := t.Refs().Branch(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	branch := t.Branch(name, info)
	parent := t
	if info.Parent != nil {
		if parent, err = branches.Open(ctx, t, *info.Parent); err != nil {
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
	// The main version is usually the fork itself, which is already open.
	fork := main
	if parent != t || info.ParentVersion != main.Version() {
		if fork, err = parent.Version(ctx, info.ParentVersion); err != nil {
			return nil, nil, fmt.Errorf("the version that branch %s was made of: %w", name, err)
		}
	}
	diff, err := Compare(ctx, Sides{
		Fork: fork.Snapshot, Main: main.Snapshot, Branch: newest.Snapshot, FromMain: parent == t,
		MainCommits: difference.CommitsOf(main), BranchCommits: difference.CommitsOf(newest),
	})
	return diff, main, err
}

// Apply adds all new columns of a branch to the table t. It copies their files, because the
// branch's own files are deleted with it; if it fails before the commit, the copies stay
// unreferenced. If the diff has problems, which includes a concurrent commit to t, the error is
// ErrNotPicked and the diff is returned with it.
func Apply(ctx context.Context, t *dataset.Table, name string) (*dataset.Dataset, *Diff, error) {
	diff, main, err := compare(ctx, t, name)
	if err != nil {
		return nil, nil, err
	}
	if len(diff.Problems) > 0 {
		return nil, diff, fmt.Errorf("%w: %s", ErrNotPicked, diff.Problems[0].Message)
	}
	made, err := pick(ctx, t, diff, main)
	if !errors.Is(err, dataset.ErrConflict) {
		return made, diff, err
	}
	again, _, failed := compare(ctx, t, name)
	if failed != nil || len(again.Problems) == 0 {
		return nil, nil, errors.Join(err, failed)
	}
	return nil, again, fmt.Errorf("%w: %w", ErrNotPicked, err)
}

// maxCopies bounds the files that are copied in parallel.
const maxCopies = snapshot.MaxConcurrentReads / 4

// pick copies the files of a diff without problems and commits them, only on top of the compared
// version.
func pick(ctx context.Context, t *dataset.Table, diff *Diff, main *dataset.Dataset) (*dataset.Dataset, error) {
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
				copies[i], err = t.Stage().CopyFile(beside, store, key, file.Blobs)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return t.Commit(ctx, &dataset.Change{Read: main, Operation: diff.Merge(files, copies), Rebase: onlyOnto(main)})
}

// onlyOnto returns a Rebase function that rejects every version later than read.
func onlyOnto(read *dataset.Dataset) func(context.Context, *dataset.Dataset, pb.Operation) (pb.Operation, error) {
	return func(_ context.Context, base *dataset.Dataset, _ pb.Operation) (pb.Operation, error) {
		return nil, fmt.Errorf("%w: the table went from version %d to version %d", dataset.ErrConflict, read.Version(), base.Version())
	}
}
