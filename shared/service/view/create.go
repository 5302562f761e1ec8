package view

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/uuid"

	"tiltyard/shared/arrowipc"
	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
	"tiltyard/shared/view"
	"tiltyard/shared/work/refresh"
)

// CreateMaterialized makes an empty view, and begins a job that fills it unless the request asks for
// no data.
func (s *Service) CreateMaterialized(ctx context.Context, req *protocol.CreateMaterializedViewRequest) (*protocol.CreateMaterializedViewResponse, error) {
	if err := protocol.RequireName(req.ID); err != nil {
		return nil, err
	}
	if !req.Empty() {
		if _, err := s.jobs(); err != nil {
			return nil, err
		}
	}
	prepare := s.fromKind
	if req.IsQuery() {
		prepare = s.fromQuery
	}
	location := s.tables.Names.NewLocation(req.ID)
	definition, schema, err := prepare(ctx, req, location)
	if err != nil {
		return nil, err
	}
	made, err := s.create(ctx, req.ID, location, definition, schema)
	if err != nil {
		return nil, err
	}
	answer := &protocol.CreateMaterializedViewResponse{Version: firstVersion, ForLanceDB: req.IsQuery()}
	if req.Empty() && made.Auto {
		s.tables.Follow(ctx, req.ID, made.UID)
	}
	if !req.Empty() {
		if answer.JobID, err = s.begin(ctx, req.ID, made, definition, refresh.Order{}); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

// firstVersion is the version of a new table.
const firstVersion = 1

// create makes the table of a view and gives it its name.
func (s *Service) create(ctx context.Context, id []string, location objectstore.Location, d *view.Definition, schema *arrow.Schema) (*stored.View, error) {
	rows := dataset.Rows{Schema: schema, Batches: func(func(arrow.RecordBatch, error) bool) {}}
	_, err := s.tables.Rows.Table(id, location, 0).CreateAs(ctx, rows, dataset.CreateOptions{StableRowIDs: true})
	var made *stored.View
	if err == nil {
		made, err = s.tables.Names.CreateView(ctx, id, catalog.NewView{
			Kind: stored.Materialized, Source: d.Source, Digest: d.Digest(), Auto: d.Auto, Location: location, Hint: firstVersion,
		})
	}
	if err != nil && !errors.Is(err, objectstore.ErrUnknownOutcome) { // else the view may exist
		err = errors.Join(err, catalog.DeleteData(context.WithoutCancel(ctx), location))
	}
	return made, err
}

// fromQuery returns the definition of a view by SQL, and the schema of its table.
func (s *Service) fromQuery(ctx context.Context, req *protocol.CreateMaterializedViewRequest, _ objectstore.Location) (*view.Definition, *arrow.Schema, error) {
	query, err := view.Parse(req.Query)
	if err != nil {
		return nil, nil, err
	}
	found, err := s.source(ctx, query.Source)
	if err != nil {
		return nil, nil, err
	}
	var definition *view.Definition
	var schema *arrow.Schema
	err = engine.Do(ctx, s.tables.At(found), nil, func(ctx context.Context, d *dataset.Dataset) (err error) {
		definition, schema, err = view.New(ctx, query, d, uuid.NewString(), req.AutoRefresh)
		return err
	})
	return definition, schema, err
}

// fromKind returns the definition of a view whose query the client made, and the schema of its table.
// It does not matter whether this service can run the query.
func (s *Service) fromKind(ctx context.Context, req *protocol.CreateMaterializedViewRequest, location objectstore.Location) (*view.Definition, *arrow.Schema, error) {
	function := ""
	if u := req.UDTF; u != nil {
		text, file, err := view.Describe(u)
		if err != nil {
			return nil, nil, err
		}
		if file != "" {
			if _, err := location.Store.Put(ctx, location.Prefix+"/"+file, []byte(u.UDTF), objectstore.Condition{}); err != nil {
				return nil, nil, err
			}
		}
		function = text
	}
	namespace := req.ID[:len(req.ID)-1]
	definition := view.Geneva(view.Kind(req.Kind), req.SourceQuery, function, namespace)
	definition.Auto = req.AutoRefresh
	version := uint64(0)
	if definition.Source != nil {
		found, err := s.source(ctx, definition.Source)
		if err != nil {
			return nil, nil, err
		}
		if version, err = s.tables.At(found).Newest(ctx); err != nil {
			return nil, nil, err
		}
	}
	schema, err := schemaOf(ctx, req.OutputSchema)
	if err != nil {
		return nil, nil, err
	}
	return definition, view.GenevaSchema(definition, schema, namespace, version), nil
}

// schemaOf reads a schema as base64 of an Arrow IPC message.
func schemaOf(ctx context.Context, text string) (*arrow.Schema, error) {
	message, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, protocol.Errorf(protocol.InvalidInput, "output_schema is not base64: %w", err)
	}
	reader, err := arrowipc.NewReader(ctx, bytes.NewReader(message), arrowipc.Limits{})
	if err != nil {
		var bad *arrowipc.Error
		if errors.As(err, &bad) {
			return nil, protocol.Errorf(protocol.InvalidInput, "output_schema is not the message of an Arrow schema: %w", err)
		}
		return nil, err
	}
	return reader.Schema(), nil
}
