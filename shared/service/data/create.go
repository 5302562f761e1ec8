package data

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/claim"
	"tiltyard/shared/engine"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/process/tally"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/storage/objectstore"
)

// Create creates a table from uploaded rows. If the table was only declared, Create fills it. If
// the table has data, the mode of the request decides: an error, no change, or a new version that
// replaces all rows.
func (s *Service) Create(ctx context.Context, req *dataapi.CreateTableRequest) (*dataapi.CreateTableResponse, error) {
	if err := protocol.CheckProperties(req.Properties); err != nil {
		return nil, err
	}
	if err := protocol.RequireName(req.ID); err != nil {
		return nil, err
	}
	opts, err := s.optionsOf(req)
	if err != nil {
		return nil, err
	}
	if req.Mode == protocol.CreateModeCreate {
		return s.createNew(ctx, req, opts)
	}
	there, err := s.tables.Names.Table(ctx, req.ID)
	switch {
	case err == nil:
		return s.createOver(ctx, there, req, opts)
	case protocol.CodeOf(err) != protocol.TableNotFound:
		return nil, err
	}
	return s.createNew(ctx, req, opts)
}

// createNew writes the rows to a new location and then gives the location its name, which is the
// moment at which the table exists. Meanwhile it checks whether the name is free.
func (s *Service) createNew(ctx context.Context, req *dataapi.CreateTableRequest, opts dataset.CreateOptions) (*dataapi.CreateTableResponse, error) {
	name := s.probe(ctx, req.ID)
	upload, err := s.open(ctx, req.Body)
	if err != nil {
		return nil, err
	}
	location := s.tables.Names.Places.New(req.ID)
	done, err := s.tables.Rows.Table(req.ID, location).ConfirmWith(name.free).CreateAs(ctx, name.guard(upload.rows()), opts)
	if err != nil {
		return s.failed(ctx, req, location, upload.Schema(), err)
	}
	if name.declared != nil {
		return s.move(ctx, location, name.declared)
	}
	made, err := s.tables.Names.CreateTable(ctx, req.ID, location, uint64(done.Version), req.Properties)
	if err != nil {
		return s.failed(ctx, req, location, upload.Schema(), err)
	}
	return s.created(ctx, made, done), nil
}

// stableRowIDsOption is the storage option with which native LanceDB clients request stable row
// ids.
const stableRowIDsOption = "new_table_enable_stable_row_ids"

// optionsOf returns the options of the new table. The storage option overrides the configured
// default.
func (s *Service) optionsOf(req *dataapi.CreateTableRequest) (dataset.CreateOptions, error) {
	opts := s.tables.Rows.NewTables
	text, given := req.StorageOptions[stableRowIDsOption]
	if !given {
		return opts, nil
	}
	stable, err := strconv.ParseBool(text)
	if err != nil {
		return opts, protocol.Errorf(protocol.InvalidInput, "storage option %s is %q, want true or false", stableRowIDsOption, text)
	}
	opts.StableRowIDs = stable
	return opts, nil
}

// failed ends a create whose rows could not be written. Most often another request took the name
// meanwhile; the mode of the request may permit that.
func (s *Service) failed(ctx context.Context, req *dataapi.CreateTableRequest, location objectstore.Location, sent *arrow.Schema, cause error) (*dataapi.CreateTableResponse, error) {
	cause = discard(ctx, location, cause)
	if protocol.CodeOf(cause) != protocol.TableAlreadyExists || req.Mode != protocol.CreateModeExistOk {
		return nil, cause
	}
	there, err := s.tables.Names.Table(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	return s.keep(ctx, there, req, sent)
}

// discard deletes the files of a table that was not created, and returns cause. No other process
// can refer to the location yet.
func discard(ctx context.Context, location objectstore.Location, cause error) error {
	err := claim.DeleteFiles(context.WithoutCancel(ctx), location)
	return errors.Join(cause, err)
}

// move copies the rows of a new table to the location that was declared for it.
func (s *Service) move(ctx context.Context, from objectstore.Location, to *catalog.Table) (*dataapi.CreateTableResponse, error) {
	source := s.tables.Rows.Table(to.ID, from)
	done, err := s.tables.At(to).CreateFrom(ctx, source)
	if err = discard(ctx, from, err); err != nil {
		return nil, err
	}
	return s.created(ctx, to, done), nil
}

// createOver creates a table whose name is taken.
func (s *Service) createOver(ctx context.Context, t *catalog.Table, req *dataapi.CreateTableRequest, opts dataset.CreateOptions) (*dataapi.CreateTableResponse, error) {
	table := s.tables.At(t)
	filled, err := table.HasData(ctx)
	if err != nil {
		return nil, err
	}
	keep := filled && req.Mode == protocol.CreateModeExistOk
	// The public specification ignores the rows, so they need not be read.
	if keep && req.Dialect != protocol.DialectLanceDB {
		return s.keep(ctx, t, req, nil)
	}
	upload, err := s.open(ctx, req.Body)
	if err != nil {
		return nil, err
	}
	if keep {
		return s.keep(ctx, t, req, upload.Schema())
	}
	var done engine.Written
	if filled {
		done, err = table.Overwrite(ctx, upload.rows())
	} else {
		done, err = table.CreateAs(ctx, upload.rows(), opts)
	}
	if err != nil {
		return nil, err
	}
	return s.created(ctx, t, done), nil
}

// keep returns the answer for an existing table that stays unchanged. The public specification
// ignores the rows; for LanceDB clients they must have the schema of the table, as in native
// LanceDB.
func (s *Service) keep(ctx context.Context, t *catalog.Table, req *dataapi.CreateTableRequest, sent *arrow.Schema) (*dataapi.CreateTableResponse, error) {
	return engine.Read(ctx, s.tables.At(t), nil, func(_ context.Context, d *dataset.Dataset) (*dataapi.CreateTableResponse, error) {
		if req.Dialect == protocol.DialectLanceDB {
			if err := sameSchema(d.Schema(), sent); err != nil {
				return nil, &protocol.Error{
					Code: protocol.TableSchemaValidationError, Err: err,
					Message: "the table exists with another schema: " + err.Error() + "; open it, or create it with mode overwrite",
				}
			}
		}
		return answer(t, int64(d.Version())), nil
	})
}

// sameSchema returns an error if the names or types of the columns differ.
func sameSchema(table *schema.Schema, sent *arrow.Schema) error {
	if _, err := table.Match(sent); err != nil {
		return err
	}
	for _, f := range table.Fields {
		if !sent.HasField(f.Name) {
			return fmt.Errorf("%w: the rows have no column %s", schema.ErrMismatch, f.Name)
		}
	}
	return nil
}

// created returns the answer of a create that made a version.
func (s *Service) created(ctx context.Context, t *catalog.Table, done engine.Written) *dataapi.CreateTableResponse {
	tally.AddRows(ctx, done.Inserted)
	made := answer(t, done.Version)
	made.TransactionID = s.tables.Transactions.IDOfCommit(ctx, t.ID, transaction.Commit{Version: uint64(done.Version), UUID: done.Transaction})
	return made
}

// answer returns the answer for a table at a version.
func answer(t *catalog.Table, version int64) *dataapi.CreateTableResponse {
	return &dataapi.CreateTableResponse{Location: t.Location.URI, Version: version, Properties: t.Properties}
}
