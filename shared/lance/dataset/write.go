package dataset

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/dataset/stage"
	"tiltyard/shared/lance/legacyfile"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// Rows are rows to be written: batches of one schema, taken one at a time.
type Rows struct {
	Schema  *arrow.Schema
	Batches iter.Seq2[arrow.RecordBatch, error]
	// Trusted says that blobs among them that are elsewhere may be anywhere, because they
	// were so in a table before. Else they must be below base paths of the table.
	Trusted bool
	// Check may refuse the rows, given the columns of the version that they are written for; nil refuses
	// none. [Table.Append] and [Table.Overwrite] ask for the version that they commit upon.
	Check func(columns *schema.Schema) error
}

// check asks Check.
func (r Rows) check(columns *schema.Schema) error {
	if r.Check == nil {
		return nil
	}
	return r.Check(columns)
}

// fileFormat returns how rows are written to the table.
func (d *Dataset) fileFormat(rows Rows) (stage.Format, error) {
	version, err := d.Manifest().FileVersion()
	return stage.Format{
		Version: version, Bases: d.Manifest().BasePaths, AnyURI: rows.Trusted,
		Legacy: legacyfile.Options{Dictionaries: d.Manifest().Dictionaries},
	}, err
}

// place returns where the new files of the table go.
func (t *Table) place() stage.Place {
	keep := func(key string, file []byte) { fragment.KeepTail(t.session.Cache, t.at.URI, key, file) }
	return stage.Place{Store: t.at.Store, Prefix: t.at.Prefix, Buffers: &t.session.buffers, Written: keep}
}

// CreateOptions say what a new table is like. The zero value is as native writers make
// them, with data files of version 2.2.
type CreateOptions struct {
	Version      lance.Version     // of the data files; zero is 2.2
	StableRowIDs bool              // rows keep their ids when they move
	Config       map[string]string // of the table
}

// Create writes rows as version 1 of a table where there is none, or returns
// ErrTableExists.
func (t *Table) Create(ctx context.Context, rows Rows) (Commit, error) {
	return t.CreateAs(ctx, rows, CreateOptions{})
}

// CreateAs is Create of a table that is not like others.
func (t *Table) CreateAs(ctx context.Context, rows Rows, opts CreateOptions) (Commit, error) {
	if opts.Version == (lance.Version{}) {
		opts.Version = lance.V2_2
	}
	fresh, err := t.stageNew(ctx, stage.Format{Version: opts.Version, AnyURI: rows.Trusted}, rows)
	if err != nil {
		return Commit{}, err
	}
	op := fresh.overwrite()
	op.ConfigUpserts = opts.Config
	d, err := t.commit(ctx, &change{operation: op, wait: fresh.files.Wait,
		apply: func(_ *Dataset, op pb.Operation) (*manifest.Manifest, error) {
			return fresh.with(operation.Create(op.(*pb.Overwrite), opts.Version, opts.StableRowIDs))
		}})
	return Commit{Dataset: d, Rows: fresh.files.Rows}, err
}

// Append adds rows as new fragments. Columns are matched by name; the error is
// schema.ErrMismatch when they are not the table's. Without a table ErrNoTable is returned before any
// row is taken.
func (t *Table) Append(ctx context.Context, rows Rows) (Commit, error) {
	ctx, done := context.WithCancel(ctx)
	defer done()
	g, err := t.guess(ctx)
	if err != nil {
		return Commit{}, err
	}
	next, stop := iter.Pull2(rows.Batches)
	defer stop()
	again := NewReplay(next)
	for {
		made, err := t.append(ctx, g, Rows{rows.Schema, again.Rows(g.right, g.settleWritten), rows.Trusted, rows.Check})
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
func (t *Table) append(ctx context.Context, g *guess, rows Rows) (Commit, error) {
	read := g.read
	format, err := read.fileFormat(rows)
	if err != nil {
		return Commit{}, err
	}
	format.Legacy.Exact = true
	if err := rows.check(read.Schema()); err != nil {
		return Commit{}, err
	}
	match, err := read.Schema().Match(rows.Schema)
	if err != nil {
		return Commit{}, err
	}
	files, err := t.place().WriteRows(ctx, match, format, rows.Batches)
	if err != nil {
		return Commit{}, err
	}
	if files.Rows == 0 {
		return Commit{Dataset: read}, t.confirmed()
	}
	d, err := t.commit(ctx, &change{
		read: read, operation: &pb.Append{Fragments: files.Fragments}, guess: g, wait: files.Wait,
		fits: func(newest *Dataset) bool { return sameColumns(read, newest) },
	})
	return Commit{Dataset: d, Rows: files.Rows}, err
}

// Overwrite replaces all rows, the columns and the indices of a table by a new version.
// Its older versions stay. config is added to the table's; it may be nil. When others overwrite it at the same time, one wins and the others get
// ErrConflict.
func (t *Table) Overwrite(ctx context.Context, rows Rows, config map[string]string) (Commit, error) {
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
	fresh, err := t.stageNew(ctx, format, rows)
	if err != nil {
		return Commit{}, err
	}
	op := fresh.overwrite()
	op.ConfigUpserts = config
	d, err := t.commit(ctx, &change{read: g.read, operation: op, guess: g, wait: fresh.files.Wait,
		apply: func(base *Dataset, op pb.Operation) (*manifest.Manifest, error) {
			if err := rows.check(base.Schema()); err != nil {
				return nil, err
			}
			return fresh.with(operation.Apply(base.Manifest(), op))
		}})
	return Commit{Dataset: d, Rows: fresh.files.Rows}, err
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

// fresh are the files of rows that make up a schema of their own.
type fresh struct {
	files        *stage.Files
	schema       *schema.Schema
	dictionaries map[int32]arrow.Array // of a table of legacy data files
}

func (f *fresh) overwrite() *pb.Overwrite {
	return &pb.Overwrite{Fragments: f.files.Fragments, Schema: f.schema.PB(), SchemaMetadata: f.schema.Metadata}
}

// with gives a manifest of the files their dictionaries, of which no operation speaks.
func (f *fresh) with(m *manifest.Manifest, err error) (*manifest.Manifest, error) {
	if err == nil {
		m.Dictionaries = f.dictionaries
	}
	return m, err
}

// stageNew stages rows that make up a schema of their own.
func (t *Table) stageNew(ctx context.Context, format stage.Format, rows Rows) (*fresh, error) {
	s, err := newSchema(rows.Schema, format.Version, -1)
	if err != nil {
		return nil, err
	}
	match, err := s.Match(rows.Schema)
	if err != nil {
		return nil, err
	}
	made, batches := &fresh{schema: s}, rows.Batches
	if format.Version == lance.Legacy {
		var stop func()
		if format.Legacy, batches, stop, err = stage.FirstDictionaries(match, batches); err != nil {
			return nil, err
		}
		defer stop()
		if made.dictionaries, err = stage.StoredDictionaries(format.Legacy.Dictionaries); err != nil {
			return nil, err
		}
	}
	made.files, err = t.place().WriteRows(ctx, match, format, batches)
	return made, err
}

// newSchema is schema.FromArrowAbove for columns in data files of a version: in those of
// 2.2 all blobs are of that version.
func newSchema(columns *arrow.Schema, version lance.Version, highest int32) (*schema.Schema, error) {
	if version == lance.V2_2 {
		columns = schema.WithBlobsV2(columns)
	}
	return schema.FromArrowAbove(columns, highest)
}
