// Package multipart writes rows in parts, by several requests, and commits all parts as one
// version. Package part stores the receipts of uncommitted parts. For example, three requests write
// parts of a large append and a fourth one commits:
//
//	Write(rows of part 1)    data/0100….lance    kept by part.Place.Keep as _uploads/<upload>/1.txn
//	Write(rows of part 2)    data/0111….lance    _uploads/<upload>/2.txn
//	Write(rows of part 3)    data/1100….lance    _uploads/<upload>/3.txn
//	Commit(parts 1 2 3)      one version with three new fragments
//
// Begin with [Write] and [Commit].
package multipart

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/part"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
)

// Parts returns the location of the receipts of a table's multipart writes.
func Parts(t *dataset.Table) part.Place {
	return part.Place{Store: t.Place().Store, Prefix: t.Place().Prefix}
}

// Write writes rows as files for Commit and returns when they are durable. Commit appends them, or
// replaces all rows of the table if overwrite is true. The caller fills in the part's Sum. Errors
// are dataset.ErrNoTable, schema.ErrMismatch if the columns differ from the table's, and
// lance.ErrUnsupported for a table of legacy data files.
func Write(ctx context.Context, t *dataset.Table, rows dataset.Rows, overwrite bool) (*part.Part, error) {
	read, err := latestWritable(ctx, t)
	if err != nil {
		return nil, err
	}
	format, err := read.Format(rows.Trusted)
	if err != nil {
		return nil, err
	}
	if format.Version == lance.Legacy {
		// The manifest holds the dictionaries of legacy files; they belong to the table's first
		// rows.
		return nil, fmt.Errorf("%w: multipart writes to a table of legacy data files", lance.ErrUnsupported)
	}
	if err := rows.CheckColumns(read.Schema()); err != nil { // the commit checks that the columns are still the same
		return nil, err
	}
	made := &part.Part{Columns: part.ColumnsOf(read.Manifest(), overwrite)}
	if overwrite {
		fresh, err := t.Stage().WriteNew(ctx, rows.Schema, format, rows.Batches)
		if err != nil {
			return nil, err
		}
		made.Operation = fresh.Overwrite()
		return made, fresh.Wait()
	}
	files, err := read.Stage(ctx, rows)
	if err != nil {
		return nil, err
	}
	made.Operation = &pb.Append{Fragments: files.Fragments}
	return made, files.Wait()
}

// latestWritable opens the newest version and checks that this writer may change the table.
func latestWritable(ctx context.Context, t *dataset.Table) (*dataset.Dataset, error) {
	read, err := t.Latest(ctx)
	if err != nil {
		return nil, err
	}
	return read, operation.CheckWritable(read.Manifest())
}

// Commit commits parts as one version under a commit id. If an earlier call has already made that
// commit after version since, Commit returns its version; since must be a version that was the
// newest before the first call. Without rows to append it returns the newest version. Errors are
// ErrUnlikeParts, and dataset.ErrConflict if the table's columns have changed since a part was
// written or another writer overwrites the table.
func Commit(ctx context.Context, t *dataset.Table, id string, parts []*part.Part, since uint64) (dataset.Commit, error) {
	op, rows, err := together(parts)
	if err != nil {
		return dataset.Commit{}, err
	}
	read, err := latestWritable(ctx, t)
	if err != nil {
		return dataset.Commit{}, err
	}
	if made, err := madeSince(ctx, t, id, since, read); made != nil || err != nil {
		return dataset.Commit{Dataset: made, Rows: rows}, err
	}
	if op == nil {
		return dataset.Commit{Dataset: read}, nil
	}
	_, overwrite := op.(*pb.Overwrite)
	for _, p := range parts {
		if p.Columns != part.ColumnsOf(read.Manifest(), overwrite) {
			return dataset.Commit{}, fmt.Errorf("%w: the table's columns have changed since a part was written", dataset.ErrConflict)
		}
	}
	made, err := t.CommitAs(func() string { return id }).Commit(ctx, &dataset.Change{Read: read, Operation: op, Fresh: true})
	return dataset.Commit{Dataset: made, Rows: rows}, err
}

// madeSince returns the version in (since, newest] with the commit id, or nil.
func madeSince(ctx context.Context, t *dataset.Table, id string, since uint64, newest *dataset.Dataset) (*dataset.Dataset, error) {
	if newest.Version() <= since {
		return nil, nil
	}
	between, err := t.Transactions(ctx, since, newest)
	if err != nil {
		return nil, err
	}
	for _, theirs := range between {
		if slices.Contains(dataset.CommitIDs(theirs.Transaction), id) {
			return t.Version(ctx, theirs.Version)
		}
	}
	return nil, nil
}

// ErrUnlikeParts reports parts with different columns or modes.
var ErrUnlikeParts = errors.New("the parts of the write differ")

// together returns the operation that commits all parts and the number of their rows. The operation
// is nil if there are no rows to append.
func together(parts []*part.Part) (op pb.Operation, rows int64, err error) {
	var appended pb.Append
	var overwritten *pb.Overwrite
	for i, p := range parts {
		rows += p.Rows()
		switch op := p.Operation.(type) {
		case *pb.Append:
			appended.Fragments = append(appended.Fragments, op.Fragments...)
		case *pb.Overwrite:
			if overwritten == nil {
				overwritten = &pb.Overwrite{Schema: op.Schema, SchemaMetadata: op.SchemaMetadata}
			}
			if !sameTable(overwritten, op) {
				return nil, 0, fmt.Errorf("%w: their columns are not the same", ErrUnlikeParts)
			}
			overwritten.Fragments = append(overwritten.Fragments, op.Fragments...)
		}
		// Appends and overwrites cannot be mixed.
		if p.Overwrites() != parts[0].Overwrites() {
			return nil, 0, fmt.Errorf("%w: part 1 and part %d do not have the same mode", ErrUnlikeParts, i+1)
		}
	}
	switch {
	case overwritten != nil:
		return overwritten, rows, nil
	case len(appended.Fragments) > 0:
		return &appended, rows, nil
	}
	return nil, 0, nil
}

// sameTable reports whether two operations create the same schema.
func sameTable(a, b *pb.Overwrite) bool {
	encoded := func(op *pb.Overwrite) string {
		var e pb.Encoder
		(&pb.Overwrite{Schema: op.Schema, SchemaMetadata: op.SchemaMetadata}).Marshal(&e)
		return string(e.B)
	}
	return encoded(a) == encoded(b)
}
