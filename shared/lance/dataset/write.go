package dataset

import (
	"context"
	"errors"
	"fmt"
	"iter"

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
	s, err := schema.FromArrow(rows.Schema)
	if err != nil {
		return Commit{}, err
	}
	files, err := t.stageNew(ctx, s, opts.Version, rows)
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
		made, err := t.append(ctx, g, Rows{rows.Schema, again.rows()}, confirm)
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
	version, err := read.manifest.FileVersion()
	if err != nil {
		return Commit{}, err
	}
	match, err := read.Schema().Match(rows.Schema)
	if err != nil {
		return Commit{}, err
	}
	files, err := t.stage(ctx, match, version, rows.Batches)
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
	version, err := g.read.manifest.FileVersion()
	if err != nil {
		return Commit{}, err
	}
	s, err := schema.FromArrow(rows.Schema)
	if err != nil {
		return Commit{}, err
	}
	files, err := t.stageNew(ctx, s, version, rows)
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

// stageNew stages rows that make up a schema of their own.
func (t *Table) stageNew(ctx context.Context, s *schema.Schema, version lance.Version, rows Rows) (*staged, error) {
	match, err := s.Match(rows.Schema)
	if err != nil {
		return nil, err
	}
	return t.stage(ctx, match, version, rows.Batches)
}

func overwriteOf(files *staged, s *schema.Schema) *pb.Overwrite {
	return &pb.Overwrite{Fragments: files.fragments, Schema: s.PB(), SchemaMetadata: s.Metadata}
}
