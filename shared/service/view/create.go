package view

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/uuid"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/claim"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/catalog/views"
	"tiltyard/shared/engine"
	"tiltyard/shared/engine/view"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/viewapi"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/work/refresh"
)

// CreateMaterialized creates an empty view, and begins a job that fills it unless the request
// demands no data.
func (s *Service) CreateMaterialized(ctx context.Context, req *viewapi.CreateMaterializedRequest) (*viewapi.CreateMaterializedResponse, error) {
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
	location := s.tables.Names.Places.New(req.ID)
	fresh, err := prepare(ctx, req, location)
	if err != nil {
		return nil, err
	}
	if req.AutoInterval != nil {
		fresh.seconds = *req.AutoInterval
	}
	made, err := s.create(ctx, req.ID, location, fresh)
	if err != nil {
		return nil, err
	}
	if fresh.source != nil && fresh.definition.IsGeneva() {
		_ = s.tables.Names.Views.Enter(ctx, req.ID, made, fresh.source.ID, fresh.source.Dependents) // if the view reads itself, its refresh fails with an explanation
	}
	answer := &viewapi.CreateMaterializedResponse{Version: firstVersion, ForLanceDB: req.IsQuery()}
	if req.Empty() && made.Auto {
		s.tables.Follow(ctx, req.ID, made.UID)
	}
	if !req.Empty() {
		if answer.JobID, err = s.begin(ctx, req.ID, made, fresh.definition, refresh.Order{}); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

// firstVersion is the version of a new table.
const firstVersion = 1

// A newView describes a view to create.
type newView struct {
	definition *view.Definition
	schema     *arrow.Schema  // of its table
	source     *catalog.Table // nil if there is no source that the sender may read
	seconds    float64        // between two automatic refreshes; 0 for that of the deployment
}

// create creates the table of a view and gives it its name.
func (s *Service) create(ctx context.Context, id []string, location objectstore.Location, fresh *newView) (*stored.View, error) {
	rows := dataset.Rows{Schema: fresh.schema, Batches: func(func(arrow.RecordBatch, error) bool) {}}
	_, err := s.tables.Rows.Table(id, location).CreateAs(ctx, rows, dataset.CreateOptions{StableRowIDs: true})
	var made *stored.View
	if err == nil {
		d := fresh.definition
		made, err = s.tables.Names.Views.Create(ctx, id, views.NewView{
			Kind: stored.Materialized, Source: d.Source, Digest: d.Digest(), By: auth.FromContext(ctx), Auto: d.Auto, Location: location, Hint: firstVersion,
			Later: d.IsGeneva(), AutoSeconds: fresh.seconds,
		})
	}
	if err != nil && !errors.Is(err, objectstore.ErrUnknownOutcome) { // after an unknown outcome the view may exist
		err = errors.Join(err, claim.DeleteFiles(context.WithoutCancel(ctx), location))
	}
	return made, err
}

// fromQuery returns a view defined by SQL.
func (s *Service) fromQuery(ctx context.Context, req *viewapi.CreateMaterializedRequest, _ objectstore.Location) (*newView, error) {
	query, err := view.Parse(req.Query)
	if err != nil {
		return nil, err
	}
	fresh := &newView{}
	if fresh.source, err = s.source(ctx, query.Source); err != nil {
		return nil, err
	}
	err = engine.Do(ctx, s.tables.At(fresh.source), nil, func(ctx context.Context, d *dataset.Dataset) (err error) {
		fresh.definition, fresh.schema, err = view.New(ctx, query, d, uuid.NewString(), req.AutoRefresh)
		return err
	})
	return fresh, err
}

// fromKind returns a view whose query the client has serialized, with its schema. The backend and the source of the query
// need not exist yet; a refresh reports missing ones.
func (s *Service) fromKind(ctx context.Context, req *viewapi.CreateMaterializedRequest, location objectstore.Location) (*newView, error) {
	schema, err := schemaOf(ctx, req.OutputSchema)
	if err != nil {
		return nil, err
	}
	function := ""
	if u := req.UDTF; u != nil {
		text, file, err := view.Describe(u)
		if err != nil {
			return nil, err
		}
		if file != "" {
			// The function is too large for the metadata. Its file exists before the view, which has no name yet.
			if _, err := location.Store.Put(ctx, location.Prefix+"/"+file, []byte(u.UDTF), objectstore.Condition{}); err != nil {
				return nil, err
			}
		}
		function = text
	}
	namespace := req.ID[:len(req.ID)-1]
	definition := view.Geneva(view.Kind(req.Kind), req.SourceQuery, function, namespace)
	definition.Auto = req.AutoRefresh
	source, version, err := s.readable(ctx, definition.Source)
	if err != nil {
		return nil, err
	}
	return &newView{definition: definition, schema: view.GenevaSchema(definition, schema, namespace, version), source: source}, nil
}

// readable returns the table with an id and its newest version. found is nil if the table does not exist or the sender may
// not read it.
func (s *Service) readable(ctx context.Context, id []string) (found *catalog.Table, version uint64, err error) {
	if id == nil {
		return nil, 0, nil
	}
	if found, err = s.source(ctx, id); err == nil {
		version, err = s.tables.At(found).Newest(ctx)
	}
	switch {
	case err == nil:
		return found, version, nil
	case protocol.CodeOf(err) == protocol.Internal, protocol.CodeOf(err) == protocol.ServiceUnavailable:
		return nil, 0, err
	}
	return nil, 0, nil
}

// schemaOf decodes a schema from a base64-encoded Arrow IPC message.
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
