package dataset

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// CreateOptions say what a new table is like. The zero value is as native writers make
// them, with data files of version 2.2.
type CreateOptions struct {
	Version      lance.Version     // of the data files; zero is 2.2
	StableRowIDs bool              // rows keep their ids when they move
	Config       map[string]string // of the table
}

// Create writes rows as version 1 of a table where there is none, or returns
// ErrTableExists. confirm is as for Append.
func (t *Table) Create(ctx context.Context, rows Rows, confirm func() error) (Commit, error) {
	return t.CreateAs(ctx, rows, CreateOptions{}, confirm)
}

// CreateAs is Create of a table that is not like others.
func (t *Table) CreateAs(ctx context.Context, rows Rows, opts CreateOptions, confirm func() error) (Commit, error) {
	if opts.Version == (lance.Version{}) {
		opts.Version = lance.V2_2
	}
	files, s, err := t.stageNew(ctx, fileFormat{version: opts.Version, anyURI: rows.Trusted}, rows)
	if err != nil {
		return Commit{}, err
	}
	op := overwriteOf(files, s)
	op.ConfigUpserts = opts.Config
	d, err := t.commit(ctx, &change{operation: op, wait: files.wait, confirm: confirm,
		apply: func(_ *Dataset, op pb.Operation) (*manifest.Manifest, error) {
			return operation.Create(op.(*pb.Overwrite), opts.Version, opts.StableRowIDs)
		}})
	return Commit{Dataset: d, Rows: files.rows}, err
}

// Append adds rows as new fragments. Columns are matched by name; the error is
// schema.ErrMismatch when they are not the table's. confirm may be nil; the rows are not
// committed when it returns an error. Without a table ErrNoTable is returned before any row is taken.
func (t *Table) Append(ctx context.Context, rows Rows, confirm func() error) (Commit, error) {
	ctx, done := context.WithCancel(ctx)
	defer done()
	g, err := t.guess(ctx)
	if err != nil {
		return Commit{}, err
	}
	next, stop := iter.Pull2(rows.Batches)
	defer stop()
	again := &replay{guess: g, next: next}
	for {
		made, err := t.append(ctx, g, Rows{rows.Schema, again.rows(), rows.Trusted}, confirm)
		if err == nil || errors.Is(err, ErrConflict) && !errors.Is(err, errRedo) {
			return made, err
		}
		// What went wrong may be the fault of the guess.
		moved, settled := g.settle()
		switch {
		case settled != nil:
			return Commit{}, settled
		case moved || errors.Is(err, errGuess):
			continue
		case errors.Is(err, errRedo):
			err = fmt.Errorf("%w: the table's columns have changed", ErrConflict)
		}
		return Commit{}, err
	}
}

// append is Append for one guess.
func (t *Table) append(ctx context.Context, g *guess, rows Rows, confirm func() error) (Commit, error) {
	read := g.read
	format, err := read.fileFormat(rows)
	if err != nil {
		return Commit{}, err
	}
	match, err := read.Schema().Match(rows.Schema)
	if err != nil {
		return Commit{}, err
	}
	files, err := t.stage(ctx, match, format, rows.Batches)
	if err != nil {
		return Commit{}, err
	}
	if files.rows == 0 {
		if confirm != nil {
			err = confirm()
		}
		return Commit{Dataset: read}, err
	}
	d, err := t.commit(ctx, &change{
		read: read, operation: &pb.Append{Fragments: files.fragments}, guess: g, wait: files.wait, confirm: confirm,
		fits: func(newest *Dataset) bool { return sameColumns(read, newest) },
	})
	return Commit{Dataset: d, Rows: files.rows}, err
}

// Overwrite replaces all rows, the columns and the indices of a table by a new version.
// Its older versions stay. config is added to the table's; it may be nil. confirm is as
// for Append. When others overwrite it at the same time, one wins and the others get
// ErrConflict.
func (t *Table) Overwrite(ctx context.Context, rows Rows, config map[string]string, confirm func() error) (Commit, error) {
	ctx, done := context.WithCancel(ctx)
	defer done()
	g, err := t.guess(ctx)
	if err != nil {
		return Commit{}, err
	}
	format, err := g.read.fileFormat(rows)
	if err != nil {
		return Commit{}, err
	}
	files, s, err := t.stageNew(ctx, format, rows)
	if err != nil {
		return Commit{}, err
	}
	op := overwriteOf(files, s)
	op.ConfigUpserts = config
	d, err := t.commit(ctx, &change{read: g.read, operation: op, guess: g, wait: files.wait, confirm: confirm})
	return Commit{Dataset: d, Rows: files.rows}, err
}

// Find returns ErrNoTable where there is no table. It asks the storage when this process
// has not seen one lately.
func (t *Table) Find(ctx context.Context) error {
	if _, ok := t.known(); ok {
		return nil
	}
	_, err := t.list(ctx)
	return err
}

// stageNew stages rows that make up a schema of their own, which it returns.
func (t *Table) stageNew(ctx context.Context, format fileFormat, rows Rows) (*staged, *schema.Schema, error) {
	s, err := newSchema(rows.Schema, format.version, -1)
	if err != nil {
		return nil, nil, err
	}
	match, err := s.Match(rows.Schema)
	if err != nil {
		return nil, nil, err
	}
	files, err := t.stage(ctx, match, format, rows.Batches)
	return files, s, err
}

// newSchema is schema.FromArrowAbove for columns in data files of a version: in those of
// 2.2 all blobs are of that version.
func newSchema(columns *arrow.Schema, version lance.Version, highest int32) (*schema.Schema, error) {
	if version == lance.V2_2 {
		columns = schema.WithBlobsV2(columns)
	}
	return schema.FromArrowAbove(columns, highest)
}

func overwriteOf(files *staged, s *schema.Schema) *pb.Overwrite {
	return &pb.Overwrite{Fragments: files.fragments, Schema: s.PB(), SchemaMetadata: s.Metadata}
}
