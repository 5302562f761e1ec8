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

// A Commit is what made a version of a table.
type Commit struct {
	Operation pb.Operation
	Writer    *pb.WriterVersion // of the manifest; nil when it names none
}

// Commits finds what made a version. An error means that it is not known.
type Commits func(ctx context.Context, version uint64) (Commit, error)

const (
	// maxCommits bounds how many commits between two versions are looked at.
	maxCommits = 512
	// commitsAtOnce is how many are read side by side.
	commitsAtOnce = 16
)

// isTrusted reports whether the versions that last changed rows can be relied on between two
// versions of a table: whether all operations by which the states of both came out of a common one
// record which rows they change, and keep the fields with the given ids, because the id of a field
// that was dropped may come back as that of another. A Restore continues from the version that it
// restores. The error is that of the context.
func isTrusted(ctx context.Context, a, b uint64, fields []int32, commits Commits) (bool, error) {
	if commits == nil {
		return false, nil
	}
	known := map[uint64]Commit{}
	for looked := 0; a != b; looked++ {
		if looked == maxCommits {
			return false, nil
		}
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

// read reads some commits, from the one of version last down to that of version first at most. It
// leaves out those that cannot be read.
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

// before returns the version from which the operation of a commit made another one. It is false for
// an operation that may have changed values of fields without a record.
func (c Commit) before(version uint64, fields []int32) (uint64, bool) {
	switch op := c.Operation.(type) {
	case *pb.Append, *pb.Delete, *pb.Overwrite, *pb.CreateIndex, *pb.Rewrite, *pb.ReserveFragments,
		*pb.UpdateConfig, *pb.UpdateBases:
		// They change no values of rows that keep their ids.
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

// haveFields reports whether a schema has fields of all ids.
func haveFields(schema []*pb.Field, ids []int32) bool {
	return !slices.ContainsFunc(ids, func(id int32) bool {
		return !slices.ContainsFunc(schema, func(f *pb.Field) bool { return f.ID == id })
	})
}

// namesRows reports whether an operation that replaces columns lists the rows that it changes, of all
// fragments. Only those are recorded.
func namesRows(op *pb.Update) bool {
	for _, f := range op.UpdatedFragments {
		if _, ok := op.UpdatedOffsets[f.ID]; !ok {
			return false
		}
	}
	return true
}

// recordsColumns reports whether a writer records the rows that it changes by replacing columns. Ours
// does, and native Lance does since version 13. Source: crate lance-table,
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
