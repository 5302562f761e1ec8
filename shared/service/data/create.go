package data

import (
	"context"
	"fmt"

	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
)

// Create makes a table of uploaded rows. A table that was only declared is filled. When
// there is one with data the mode decides: an error, no change, or a new version that
// replaces all rows.
func (s *Service) Create(ctx context.Context, req *protocol.CreateTableRequest) (*protocol.CreateTableResponse, error) {
	if err := protocol.CheckProperties(req.Properties); err != nil {
		return nil, err
	}
	if err := protocol.RequireName(req.ID); err != nil {
		return nil, err
	}
	there, err := s.names.Table(ctx, req.ID)
	switch {
	case err == nil:
		return s.createOver(ctx, there, req)
	case protocol.CodeOf(err) != protocol.TableNotFound:
		return nil, err
	}
	rows, err := s.open(req.Body)
	if err != nil {
		return nil, err
	}
	location := s.names.NewLocation(req.ID)
	done, err := s.rows.Table(req.ID, location).Create(ctx, rows)
	if err != nil {
		return nil, err
	}
	made, err := s.names.CreateTable(ctx, req.ID, location, req.Properties, false)
	if err != nil {
		return s.lateExists(ctx, req, location, err)
	}
	return answer(made, done.Version), nil
}

// lateExists ends a create whose name was taken while its rows were written. They are at
// a place that nobody else knows, so they can go.
func (s *Service) lateExists(ctx context.Context, req *protocol.CreateTableRequest, location objectstore.Location, cause error) (*protocol.CreateTableResponse, error) {
	if err := catalog.DeleteData(context.WithoutCancel(ctx), location); err != nil {
		cause = fmt.Errorf("%w (and its rows remain as garbage: %w)", cause, err)
	}
	if protocol.CodeOf(cause) != protocol.TableAlreadyExists || req.Mode != protocol.CreateModeExistOk {
		return nil, cause
	}
	there, err := s.names.Table(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	return s.keep(ctx, there)
}

// createOver creates a table whose name is there.
func (s *Service) createOver(ctx context.Context, t *catalog.Table, req *protocol.CreateTableRequest) (*protocol.CreateTableResponse, error) {
	table := s.rows.Table(t.ID, t.Location)
	filled, err := table.HasData(ctx)
	if err != nil {
		return nil, err
	}
	if filled && req.Mode == protocol.CreateModeExistOk {
		return s.keep(ctx, t)
	}
	if filled && req.Mode == protocol.CreateModeCreate {
		return nil, catalog.TableExists(t.ID)
	}
	rows, err := s.open(req.Body)
	if err != nil {
		return nil, err
	}
	var done engine.Written
	if filled {
		done, err = table.Overwrite(ctx, rows, nil)
	} else {
		done, err = table.Create(ctx, rows)
	}
	if err != nil {
		return nil, err
	}
	return answer(t, done.Version), nil
}

// keep answers a create that found a table and leaves it as it is.
func (s *Service) keep(ctx context.Context, t *catalog.Table) (*protocol.CreateTableResponse, error) {
	return engine.Read(ctx, s.rows.Table(t.ID, t.Location), nil, func(_ context.Context, d *dataset.Dataset) (*protocol.CreateTableResponse, error) {
		return answer(t, int64(d.Version())), nil
	})
}

func answer(t *catalog.Table, version int64) *protocol.CreateTableResponse {
	return &protocol.CreateTableResponse{Location: t.Location.URI, Version: version, Properties: t.Properties}
}
