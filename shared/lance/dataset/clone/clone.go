// Package clone creates tables whose first version is a version of another table. [Shallow] refers
// to the other table's files; [Deep] copies them.
package clone

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
)

// maxCopies bounds the files that are copied in parallel.
const maxCopies = snapshot.MaxConcurrentReads / 4

// Shallow creates a table, or a named branch, whose first version has the contents and number of d.
// It refers to the files of d and has none of its own, so the files of d must stay. The error is
// dataset.ErrTableExists if a table exists at the location.
func Shallow(ctx context.Context, d *dataset.Dataset, to *dataset.Table, branch string) (*dataset.Dataset, error) {
	if err := checkFree(ctx, d, to); err != nil {
		return nil, err
	}
	return to.Commit(ctx, Change(d, Operation(d, branch)))
}

// Deep is like Shallow, but the new table gets copies of all files of d. If it fails before the
// commit, the copies stay unreferenced.
func Deep(ctx context.Context, d *dataset.Dataset, to *dataset.Table) (*dataset.Dataset, error) {
	if err := checkFree(ctx, d, to); err != nil {
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
		group.Go(func() error { return to.Stage().CopyTo(beside, file.Path, file.Store, file.Key) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	op := Operation(d, "")
	op.IsShallow = false
	return to.Commit(ctx, Change(d, op))
}

// checkFree returns dataset.ErrTableExists if the target location holds any version. The commit
// alone would fail only for a version of the same number.
func checkFree(ctx context.Context, d *dataset.Dataset, to *dataset.Table) error {
	there, err := to.Versions(ctx, nil, 1)
	if err == nil && len(there) == 0 {
		return nil
	}
	if err == nil {
		err = dataset.ErrTableExists
	}
	return fmt.Errorf("clone %s to %s: %w", d.Table().Place().URI, to.Place().URI, err)
}

// Operation returns the operation that clones d to a named branch, or to another table if branch is
// "".
func Operation(d *dataset.Dataset, branch string) *pb.Clone {
	op := &pb.Clone{IsShallow: true, RefName: d.Manifest().Branch, RefVersion: d.Version(), RefPath: d.Table().Place().URI}
	if branch != "" {
		op.BranchName = &branch
	}
	return op
}

// Change returns the commit of op that makes the first version of the clone.
func Change(d *dataset.Dataset, op *pb.Clone) *dataset.Change {
	return &dataset.Change{
		Operation: op,
		Apply: func(*dataset.Dataset, pb.Operation) (*manifest.Manifest, error) {
			return operation.Cloned(d.Manifest(), op)
		},
	}
}
