package view

import (
	"context"
	"slices"

	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/function"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
	"tiltyard/shared/view"
	"tiltyard/shared/work/refresh"
)

// RefreshMaterialized begins a job that brings a view up to date.
func (s *Service) RefreshMaterialized(ctx context.Context, req *protocol.RefreshMaterializedViewRequest) (*protocol.RefreshMaterializedViewResponse, error) {
	if _, err := s.jobs(); err != nil {
		return nil, err
	}
	found, definition, err := s.definition(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	if definition.Source != nil { // also of a view that cannot be refreshed here: its definition must not be shown to all
		source, err := s.source(ctx, definition.Source)
		if err != nil {
			return nil, err
		}
		if err := engine.Do(ctx, s.tables.At(source), req.Version(), func(context.Context, *dataset.Dataset) error { return nil }); err != nil {
			return nil, err
		}
	}
	if err := definition.Check(); err != nil {
		return nil, err
	}
	if c := definition.Call; c != nil && s.tables.Runs != nil {
		if err := s.tables.Runs(function.RuntimeOf(c.Backend)); err != nil {
			return nil, err
		}
	}
	if req.OutputLimit != nil && definition.Kind != view.KindChunker {
		return nil, protocol.Errorf(protocol.InvalidInput, "output_limit is for views of kind chunker, and the view is of kind %s", definition.Kind)
	}
	v := found.View
	if v == nil {
		if v, err = s.tables.Names.AdoptView(ctx, found, catalog.NewView{Source: definition.Source, Digest: definition.Digest(), Auto: definition.Auto}); err != nil {
			return nil, err
		}
	}
	order := refresh.Order{Full: req.Full, SourceVersion: req.Version(), Incarnation: req.Incarnation, OutputLimit: req.OutputLimit}
	if req.Concurrency != nil {
		order.Parts = int(*req.Concurrency)
	}
	id, err := s.begin(ctx, req.ID, v, definition, order)
	if err != nil {
		return nil, err
	}
	return &protocol.RefreshMaterializedViewResponse{JobID: id, TransactionID: id}, nil
}

// definition returns the table of a view, and the definition in its metadata. A table that another
// program has made a view of counts as one.
func (s *Service) definition(ctx context.Context, id []string) (*catalog.Table, *view.Definition, error) {
	found, err := s.tables.Names.Table(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	definition, err := engine.Read(ctx, s.tables.At(found), nil, func(_ context.Context, d *dataset.Dataset) (*view.Definition, error) {
		return view.Read(d.Schema().Metadata)
	})
	if err == nil && slices.Equal(definition.Source, id) {
		err = protocol.Errorf(protocol.InvalidInput, "the view reads itself")
	}
	return found, definition, err
}
