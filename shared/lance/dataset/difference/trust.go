package difference

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance/pb"
)

// A Commit is the operation of a version and its writer.
type Commit struct {
	Operation pb.Operation
	Writer    *pb.WriterVersion // from the manifest; nil if not recorded
}

// Commits returns the commit of a version. An error means that it is unknown.
type Commits func(ctx context.Context, version uint64) (Commit, error)

const (
	// maxCommits bounds the commits examined between two versions.
	maxCommits = 512
	// commitsAtOnce is the number of commits read in parallel.
	commitsAtOnce = 16
)

// isTrusted reports whether row versions are reliable between two versions of a table. It follows
// both versions back to a common ancestor; a Restore continues from the version that it restores.
// All operations on the way must record the rows that they change and keep the fields, because the
// id of a dropped field may be reused. The error is the context's.
func isTrusted(ctx context.Context, a, b uint64, fields []int32, commits Commits) (bool, error) {
	if commits == nil {
		return false, nil
	}
	known := map[uint64]Commit{}
	for looked := 0; a != b; looked++ {
		if looked == maxCommits {
			return false, nil
		}
		// Step back from the newer version, until both meet.
		newer, older := &a, &b
		if b > a {
			newer, older = &b, &a
		}
		commit, ok := known[*newer]
		if !ok {
			if err := read(ctx, known, *newer, *older+1, commits); err != nil {
				return false, err
			}
			if commit, ok = known[*newer]; !ok {
				return false, nil
			}
		}
		before, ok := commit.before(*newer, fields)
		if !ok {
			return false, nil
		}
		*newer = before
	}
	return true, nil
}

// read adds the commits of the versions from last downward to known, to first at the lowest. It
// skips unreadable ones.
func read(ctx context.Context, known map[uint64]Commit, last, first uint64, commits Commits) error {
	if last-first >= commitsAtOnce {
		first = last - commitsAtOnce + 1
	}
	found := make([]*Commit, last-first+1)
	var group errgroup.Group
	for i := range found {
		group.Go(func() error {
			if c, err := commits(ctx, first+uint64(i)); err == nil {
				found[i] = &c
			}
			return nil
		})
	}
	if err := errors.Join(group.Wait(), ctx.Err()); err != nil {
		return err
	}
	for i, c := range found {
		if c != nil {
			known[first+uint64(i)] = *c
		}
	}
	return nil
}

// before returns the version on which a commit's operation is based. ok is false for an operation
// that may have changed values of the fields without a record.
func (c Commit) before(version uint64, fields []int32) (uint64, bool) {
	switch op := c.Operation.(type) {
	case *pb.Append, *pb.Delete, *pb.Overwrite, *pb.CreateIndex, *pb.Rewrite, *pb.ReserveFragments,
		*pb.UpdateConfig, *pb.UpdateBases:
		// These operations change no values of rows that keep their ids.
	case *pb.Project:
		if !haveFields(op.Schema, fields) {
			return 0, false
		}
	case *pb.Update:
		if op.Mode == pb.RewriteColumns && !(recordsColumns(c.Writer) && namesRows(op)) {
			return 0, false
		}
	case *pb.Merge:
		if !recordsColumns(c.Writer) || !haveFields(op.Schema, fields) {
			return 0, false
		}
	case *pb.DataReplacement:
		if !recordsColumns(c.Writer) {
			return 0, false
		}
	case *pb.Restore:
		return op.Version, op.Version > 0 && op.Version < version
	default:
		return 0, false
	}
	return version - 1, version > 1
}

// haveFields reports whether a schema has fields with all ids.
func haveFields(schema []*pb.Field, ids []int32) bool {
	return !slices.ContainsFunc(ids, func(id int32) bool {
		return !slices.ContainsFunc(schema, func(f *pb.Field) bool { return f.ID == id })
	})
}

// namesRows reports whether a column update lists the changed rows of every fragment. Only listed
// rows are recorded.
func namesRows(op *pb.Update) bool {
	for _, f := range op.UpdatedFragments {
		if _, ok := op.UpdatedOffsets[f.ID]; !ok {
			return false
		}
	}
	return true
}

// recordsColumns reports whether a writer records the rows changed by replaced columns. This
// library does, and native Lance since version 13. Source: crate lance-table,
// src/transaction/manifest_build.rs.
func recordsColumns(w *pb.WriterVersion) bool {
	if w == nil {
		return false
	}
	switch w.Library {
	case "tiltyard":
		return true
	case "lance":
		major, _, _ := strings.Cut(w.Version, ".")
		n, err := strconv.Atoi(major)
		return err == nil && (n > 13 || n == 13 && w.Prerelease == "")
	}
	return false
}
