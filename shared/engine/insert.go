package engine

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine/apierror"
	"tiltyard/shared/engine/computed"
	"tiltyard/shared/engine/wal"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/protocol"
)

// Written is the result of a write.
type Written struct {
	Version     int64
	Transaction string // UUID of the transaction that made the version
	Inserted    int64
	Updated     int64
	Deleted     int64
	Attempts    int // of a merge: how many times it was planned
}

// Create writes rows as the first version of a table, with the engine's options for new tables. The
// error is TableAlreadyExists if the table has a version.
func (t *Table) Create(ctx context.Context, rows dataset.Rows) (Written, error) {
	return t.CreateAs(ctx, rows, t.engine.NewTables)
}

// CreateFrom creates the table with the rows of another one. It has stable row ids if the source
// has them.
func (t *Table) CreateFrom(ctx context.Context, source *Table) (Written, error) {
	return Settled(ctx, source, nil, func(ctx context.Context, d *dataset.Dataset) (Written, error) {
		if err := wal.CheckWhole(d); err != nil {
			return Written{}, err
		}
		schema, batches, err := d.ScanValues(ctx, snapshot.ScanOptions{})
		if err != nil {
			return Written{}, err
		}
		opts := t.engine.NewTables
		opts.StableRowIDs = d.Manifest().StableRowIDs()
		return t.CreateAs(ctx, dataset.Rows{Schema: schema, Batches: batches, Trusted: true}, opts)
	})
}

// Insert appends rows. It matches columns by name; a missing nullable column becomes null. Rows
// with values of computed columns are InvalidInput.
func (t *Table) Insert(ctx context.Context, rows dataset.Rows) (Written, error) {
	rows.Check = notComputed(rows.Schema)
	return t.writeOnce(ctx, rows, func(data *dataset.Table, rows dataset.Rows) (dataset.Commit, error) {
		return data.Append(ctx, rows)
	})
}

// Overwrite commits a version that replaces all rows and columns.
func (t *Table) Overwrite(ctx context.Context, rows dataset.Rows) (Written, error) {
	if err := checkColumns(rows); err != nil {
		return Written{}, err
	}
	return t.writeOnce(ctx, rows, func(data *dataset.Table, rows dataset.Rows) (dataset.Commit, error) {
		return data.Overwrite(ctx, rows, nil)
	})
}

// OverwriteRows overwrites the table with the rows of a client's insert request. As with Insert, the
// rows must not contain columns that the table computes, nor declare computed columns.
func (t *Table) OverwriteRows(ctx context.Context, rows dataset.Rows) (Written, error) {
	if err := computed.CheckUndeclared(rows.Schema); err != nil {
		return Written{}, err
	}
	rows.Check = notComputed(rows.Schema)
	return t.Overwrite(ctx, rows)
}

// notComputed returns a check that rejects rows with a column that a table computes.
func notComputed(rows *arrow.Schema) func(*schema.Schema) error {
	return func(columns *schema.Schema) error {
		for _, f := range rows.Fields() {
			if err := computed.CheckWritten(columns, f.Name); err != nil {
				return err
			}
		}
		return nil
	}
}

// Made returns the result of a change that committed d.
func Made(d *dataset.Dataset) Written { return written(dataset.Commit{Dataset: d}) }

// written converts a commit to the result of a write. A change that committed no version has a zero
// result.
func written(c dataset.Commit) Written {
	if c.Dataset == nil {
		return Written{}
	}
	return Written{Version: int64(c.Dataset.Version()), Transaction: c.Dataset.TransactionUUID(), Inserted: c.Rows}
}

// checkColumns returns an error for a schema that a table cannot have: a bad name, or a type
// without an encoding.
func checkColumns(rows dataset.Rows) error {
	if err := apierror.CheckNames(rows.Schema); err != nil {
		return err
	}
	if _, err := schema.FromArrow(rows.Schema); err != nil {
		return &protocol.Error{Code: protocol.TableSchemaValidationError, Message: err.Error(), Err: err}
	}
	return nil
}
