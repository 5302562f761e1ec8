package dataset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset/part"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
)

// Uploads returns where the parts of multipart writes of the table are kept.
func (t *Table) Uploads() part.Place { return part.Place{Store: t.at.Store, Prefix: t.at.Prefix} }

// WritePart writes rows as files that [Table.CommitParts] can commit, and returns when they are
// durable. The rows are appended to the table or, if overwrite is true, replace all of its rows.
// The part has no sum yet. The error is ErrNoTable, schema.ErrMismatch when the columns are not the
// table's, or lance.ErrUnsupported for a table of legacy data files.
func (t *Table) WritePart(ctx context.Context, rows Rows, overwrite bool) (*part.Part, error) {
	read, err := t.latestWritable(ctx)
	if err != nil {
		return nil, err
	}
	format, err := read.fileFormat(rows)
	if err != nil {
		return nil, err
	}
	if format.Version == lance.Legacy {
		// The dictionaries of these files are in the manifest, and belong to the first rows of a table.
		return nil, fmt.Errorf("%w: multipart writes to a table of legacy data files", lance.ErrUnsupported)
	}
	if err := rows.check(read.Schema()); err != nil { // the commit checks that the columns are the same
		return nil, err
	}
	made := &part.Part{Columns: columnsOf(read, overwrite)}
	if overwrite {
		fresh, err := t.stageNew(ctx, format, rows)
		if err != nil {
			return nil, err
		}
		made.Operation = fresh.overwrite()
		return made, fresh.files.Wait()
	}
	match, err := read.Schema().Match(rows.Schema)
	if err != nil {
		return nil, err
	}
	files, err := t.place().WriteRows(ctx, match, format, rows.Batches)
	if err != nil {
		return nil, err
	}
	made.Operation = &pb.Append{Fragments: files.Fragments}
	return made, files.Wait()
}

func (t *Table) latestWritable(ctx context.Context) (*Dataset, error) {
	read, err := t.Latest(ctx)
	if err != nil {
		return nil, err
	}
	return read, operation.CheckWritable(read.Manifest())
}

// columnsOf identifies what a part must have been written for to be committed on a version: the
// version of data files and, unless it overwrites the table, the fields.
func columnsOf(d *Dataset, overwrite bool) string {
	version, err := d.Manifest().FileVersion()
	if err != nil {
		return ""
	}
	if overwrite {
		return version.String()
	}
	h := sha256.New()
	for f := range d.Schema().All() {
		fmt.Fprintf(h, "%d %d %q %q %t\n", f.ID, f.ParentID, f.Name, f.LogicalType, f.Nullable)
	}
	return version.String() + " " + hex.EncodeToString(h.Sum(nil)[:16])
}

// CommitParts commits parts as one version. It makes no version when an earlier call for the same
// commit id (see [Table.CommitAs]) has made one after version since, which must be one that was
// the newest before the first call; it then returns that version. Without rows to append it returns
// the newest version. The error is ErrConflict when the table's columns have changed since a part
// was written, or when another writer overwrites the table meanwhile.
func (t *Table) CommitParts(ctx context.Context, parts []*part.Part, since uint64) (Commit, error) {
	op, rows, err := together(parts)
	if err != nil {
		return Commit{}, err
	}
	read, err := t.latestWritable(ctx)
	if err != nil {
		return Commit{}, err
	}
	if made, err := t.madeSince(ctx, since, read); made != nil || err != nil {
		return Commit{Dataset: made, Rows: rows}, err
	}
	if op == nil {
		return Commit{Dataset: read}, nil
	}
	_, overwrite := op.(*pb.Overwrite)
	for _, p := range parts {
		if p.Columns != columnsOf(read, overwrite) {
			return Commit{}, fmt.Errorf("%w: the table's columns have changed since a part was written", ErrConflict)
		}
	}
	made, err := t.commit(ctx, &change{read: read, operation: op, fresh: true})
	return Commit{Dataset: made, Rows: rows}, err
}

// madeSince returns the version after since, up to newest, that holds the commit of the table's
// commit id, nil when there is none.
func (t *Table) madeSince(ctx context.Context, since uint64, newest *Dataset) (*Dataset, error) {
	if newest.Version() <= since {
		return nil, nil
	}
	between, err := t.transactions(ctx, since, newest)
	if err != nil {
		return nil, err
	}
	id := t.newCommitID()
	for _, theirs := range between {
		if holds(theirs.Transaction, id) {
			return t.Version(ctx, theirs.version)
		}
	}
	return nil, nil
}

// ErrUnlikeParts means that the parts of one write cannot become one version.
var ErrUnlikeParts = errors.New("the parts of the write differ")

// together returns the operation that commits all parts, nil when there are no rows to append, and
// how many rows they have.
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

// sameTable reports whether two operations make a table of the same columns.
func sameTable(a, b *pb.Overwrite) bool {
	encoded := func(op *pb.Overwrite) string {
		var e pb.Encoder
		(&pb.Overwrite{Schema: op.Schema, SchemaMetadata: op.SchemaMetadata}).Marshal(&e)
		return string(e.B)
	}
	return encoded(a) == encoded(b)
}
