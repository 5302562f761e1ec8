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
	"tiltyard/shared/lance/internal/legacyfile"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// Rows is a stream of record batches of one schema.
type Rows struct {
	Schema  *arrow.Schema
	Batches iter.Seq2[arrow.RecordBatch, error]
	// Trusted allows external blobs at any location, because a table has referred to them before.
	// Otherwise they must lie below a base path of the table.
	Trusted bool
	// Check may reject the rows after seeing the columns of the version that they are written for;
	// nil accepts all. [Table.Append] and [Table.Overwrite] call it for the version they commit to.
	Check func(columns *schema.Schema) error
}

// CheckColumns calls Check, if set, with the columns of a version.
func (r Rows) CheckColumns(columns *schema.Schema) error {
	if r.Check == nil {
		return nil
	}
	return r.Check(columns)
}

// Format returns the format of new data files of the table. If anyURI is true, external blobs may
// lie anywhere; otherwise only below a base path of the table.
func (d *Dataset) Format(anyURI bool) (stage.Format, error) {
	version, err := d.Manifest().FileVersion()
	return stage.Format{
		Version: version, Bases: d.Manifest().BasePaths, AnyURI: anyURI,
		Legacy: legacyfile.Options{Dictionaries: d.Manifest().Dictionaries},
	}, err
}

// Stage returns the location for new files of the table. The session caches the footers written
// there.
func (t *Table) Stage() stage.Place {
	keep := func(key string, file []byte) { fragment.KeepTail(t.session.Cache, t.at.URI, key, file) }
	return stage.Place{Store: t.at.Store, Prefix: t.at.Prefix, Buffers: &t.session.buffers, Written: keep}
}

// CreateOptions are the options of a new table. The zero value gives native Lance's defaults with
// data files of version 2.2.
type CreateOptions struct {
	Version      lance.Version     // of the data files; zero means 2.2
	StableRowIDs bool              // rows keep their ids when they move
	Config       map[string]string // table configuration
}

// Create writes rows as version 1 of a new table with default options, or returns ErrTableExists.
func (t *Table) Create(ctx context.Context, rows Rows) (Commit, error) {
	return t.CreateAs(ctx, rows, CreateOptions{})
}

// CreateAs writes rows as version 1 of a new table with options, or returns ErrTableExists.
func (t *Table) CreateAs(ctx context.Context, rows Rows, opts CreateOptions) (Commit, error) {
	if opts.Version == (lance.Version{}) {
		opts.Version = lance.V2_2
	}
	fresh, err := t.Stage().WriteNew(ctx, rows.Schema, stage.Format{Version: opts.Version, AnyURI: rows.Trusted}, rows.Batches)
	if err != nil {
		return Commit{}, err
	}
	op := fresh.Overwrite()
	op.ConfigUpserts = opts.Config
	d, err := t.Commit(ctx, &Change{Operation: op, Wait: fresh.Wait,
		Apply: func(_ *Dataset, op pb.Operation) (*manifest.Manifest, error) {
			return withDictionaries(fresh)(operation.Create(op.(*pb.Overwrite), opts.Version, opts.StableRowIDs))
		}})
	return Commit{Dataset: d, Rows: fresh.Rows}, err
}

// Append adds rows as new fragments. Columns are matched by name; schema.ErrMismatch reports a
// difference. If the table does not exist, it returns ErrNoTable before it takes any row.
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
		// A stale guess may have caused the failure.
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

// append writes and commits the rows for one guess. No rows commit nothing.
func (t *Table) append(ctx context.Context, g *guess, rows Rows) (Commit, error) {
	read := g.read
	format, err := read.Format(rows.Trusted)
	if err != nil {
		return Commit{}, err
	}
	format.Legacy.Exact = true
	if err := rows.CheckColumns(read.Schema()); err != nil {
		return Commit{}, err
	}
	match, err := read.Schema().Match(rows.Schema)
	if err != nil {
		return Commit{}, err
	}
	files, err := t.Stage().WriteRows(ctx, match, format, rows.Batches)
	if err != nil {
		return Commit{}, err
	}
	if files.Rows == 0 {
		return Commit{Dataset: read}, t.Confirm()
	}
	d, err := t.Commit(ctx, &Change{
		Read: read, Operation: &pb.Append{Fragments: files.Fragments}, guess: g, Wait: files.Wait,
		fits: func(newest *Dataset) bool { return sameColumns(read, newest) },
	})
	return Commit{Dataset: d, Rows: files.Rows}, err
}

// Overwrite replaces all rows, columns and indices by a new version. Older versions stay. config,
// which may be nil, is merged into the table's. Of concurrent overwrites one wins and the others
// fail with ErrConflict.
func (t *Table) Overwrite(ctx context.Context, rows Rows, config map[string]string) (Commit, error) {
	ctx, done := context.WithCancel(ctx)
	defer done()
	g, err := t.guess(ctx)
	if err != nil {
		return Commit{}, err
	}
	format, err := g.read.Format(rows.Trusted)
	if err != nil {
		return Commit{}, err
	}
	fresh, err := t.Stage().WriteNew(ctx, rows.Schema, format, rows.Batches)
	if err != nil {
		return Commit{}, err
	}
	op := fresh.Overwrite()
	op.ConfigUpserts = config
	d, err := t.Commit(ctx, &Change{Read: g.read, Operation: op, guess: g, Wait: fresh.Wait,
		Apply: func(base *Dataset, op pb.Operation) (*manifest.Manifest, error) {
			if err := rows.CheckColumns(base.Schema()); err != nil {
				return nil, err
			}
			return withDictionaries(fresh)(operation.Apply(base.Manifest(), op))
		}})
	return Commit{Dataset: d, Rows: fresh.Rows}, err
}

// Find returns ErrNoTable if the table does not exist. It asks storage only if the cache has no
// recent version.
func (t *Table) Find(ctx context.Context) error {
	if _, ok := t.known(); ok {
		return nil
	}
	_, err := t.list(ctx)
	return err
}

// withDictionaries adds the dictionaries of new rows to a manifest; operations do not carry them.
func withDictionaries(rows *stage.New) func(*manifest.Manifest, error) (*manifest.Manifest, error) {
	return func(m *manifest.Manifest, err error) (*manifest.Manifest, error) {
		if err == nil {
			m.Dictionaries = rows.Dictionaries
		}
		return m, err
	}
}
