package view

import (
	"context"
	"slices"

	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/catalog/views"
	"tiltyard/shared/engine"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/engine/view"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/viewapi"
	"tiltyard/shared/work/refresh"
)

// RefreshMaterialized begins a job that updates a view.
func (s *Service) RefreshMaterialized(ctx context.Context, req *viewapi.RefreshRequest) (*viewapi.RefreshResponse, error) {
	if _, err := s.jobs(); err != nil {
		return nil, err
	}
	found, definition, err := s.definition(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	var source *catalog.Table
	if definition.Source != nil { // check this before Check, whose error shows the definition, which only readers of the source may see
		if source, err = s.source(ctx, definition.Source); err != nil {
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
		if err := s.tables.Runs(udf.RuntimeOf(c.Backend)); err != nil {
			return nil, err
		}
	}
	if req.OutputLimit != nil && definition.Kind != view.KindChunker {
		return nil, protocol.Errorf(protocol.InvalidInput, "output_limit is for views of kind chunker, and the view is of kind %s", definition.Kind)
	}
	v, err := s.defined(ctx, found, definition, req.Adopt)
	if err != nil {
		return nil, err
	}
	if err := s.tables.Names.Views.Enter(ctx, req.ID, v, source.ID, source.Dependents); err != nil {
		return nil, err
	}
	order := refresh.Order{Full: req.Full, SourceVersion: req.Version(), Incarnation: req.Incarnation, OutputLimit: req.OutputLimit}
	if req.Concurrency != nil {
		order.Parts = int(*req.Concurrency)
	}
	id, err := s.begin(ctx, req.ID, v, definition, order)
	if err != nil {
		return nil, err
	}
	return &viewapi.RefreshResponse{JobID: id, TransactionID: id}, nil
}

// defined returns the record of a view after comparing its definition with the one in the table's metadata. Another writer
// of the table may have replaced the latter, to run it with the rights of the sender. So under policies a sender must name
// the digest of the definition to adopt it.
func (s *Service) defined(ctx context.Context, found *catalog.Table, d *view.Definition, adopt string) (*stored.View, error) {
	digest, v := d.Digest(), found.View
	stands := v != nil && v.Digest == digest
	if stands {
		_, err := s.tables.Rights.As(ctx, v.By)
		if stands = err == nil; err != nil && !protocol.HasCode(err, protocol.PermissionDenied) {
			return nil, err
		}
	}
	switch {
	case adopt != "" && adopt != digest:
		return nil, protocol.Errorf(protocol.InvalidInput, "adopt is not the definition_sha256 of the view, which describes its present definition; read that, and send its digest")
	case adopt != "", !stands && !auth.Limited(ctx):
		return s.tables.Names.Views.Adopt(ctx, found.ID, found.UID, views.NewView{Source: d.Source, Digest: digest, By: auth.FromContext(ctx), Auto: d.Auto})
	case stands:
		return v, nil
	}
	return nil, &protocol.Error{
		Code:    protocol.InvalidInput,
		Message: "the definition in the metadata of " + keys.Display(found.ID) + " did not come with a request, or with one of somebody whose credentials are gone, so it is not known whose rights it has",
		Detail:  "who may read what it names can read it (describe), and send a refresh with its definition_sha256 as adopt: the view then shows its readers what the sender may read; or drop the view and create it anew",
	}
}

// definition returns the table of a view, and the definition in its metadata. Tables that other
// programs turned into views count as views.
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
