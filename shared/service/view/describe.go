package view

import (
	"context"

	"tiltyard/shared/catalog/dependents"
	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/engine"
	"tiltyard/shared/engine/view"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol/viewapi"
	"tiltyard/shared/work/refresh"
)

// DescribeMaterialized returns the definition of a view and the source version from which its rows
// were computed.
func (s *Service) DescribeMaterialized(ctx context.Context, req *viewapi.MaterializedRequest) (*viewapi.DescribeMaterializedResponse, error) {
	found, err := s.tables.Names.Table(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	answer, err := engine.Read(ctx, s.tables.At(found), nil, func(_ context.Context, d *dataset.Dataset) (*viewapi.DescribeMaterializedResponse, error) {
		definition, err := view.Read(d.Schema().Metadata)
		if err != nil {
			return nil, err
		}
		if found.View != nil {
			definition.Auto = found.View.Auto
		}
		return describe(definition, d), nil
	})
	if err != nil || found.View == nil {
		return answer, err
	}
	answer.LastJobID, err = refresh.LastJob(ctx, s.tables, found.View.UID)
	return answer, err
}

// describe converts a definition, and the state of the view's rows, to the form of the protocol.
func describe(definition *view.Definition, d *dataset.Dataset) *viewapi.DescribeMaterializedResponse {
	metadata := d.Schema().Metadata
	answer := &viewapi.DescribeMaterializedResponse{
		Kind: viewapi.Kind(definition.Kind), Incarnation: metadata[view.IncarnationKey], AutoRefresh: definition.Auto, Digest: definition.Digest(),
	}
	if last := len(definition.Source) - 1; last >= 0 {
		answer.SourceTable, answer.SourceNamespace = definition.Source[last], definition.Source[:last]
	}
	if mark, ok := view.WatermarkOf(metadata); ok {
		at := mark.At.UnixMilli()
		answer.SourceVersion, answer.RefreshedAtMillis = &mark.Source, &at
	}
	if q := definition.Query; q != nil && !definition.IsGeneva() {
		answer.Query, answer.Filter, answer.Limit = q.String(), q.Filter, q.Limit
		for _, c := range q.Columns {
			answer.Projections = append(answer.Projections, viewapi.Projection{Output: c.Name, Expression: c.Expr})
		}
		return answer
	}
	for _, f := range d.Schema().Fields { // the client cannot parse the query, so list the columns
		answer.Projections = append(answer.Projections, viewapi.Projection{Output: f.Name, Expression: f.Name})
	}
	return answer
}

// DropMaterialized removes a view with its rows.
func (s *Service) DropMaterialized(ctx context.Context, req *viewapi.MaterializedRequest) (*viewapi.DropMaterializedResponse, error) {
	gone, err := s.tables.Names.Views.Drop(ctx, req.ID, stored.Materialized)
	if err != nil {
		return nil, err
	}
	return &viewapi.DropMaterializedResponse{Warning: dependents.Warning(ctx, gone.Dependents)}, nil
}

// ListMaterialized returns the names of the materialized views in a namespace.
func (s *Service) ListMaterialized(ctx context.Context, req *viewapi.ListMaterializedRequest) (*viewapi.ListMaterializedResponse, error) {
	limit := lists.NoLimit
	if most, bounded := req.Bound(); bounded {
		limit = int(min(most, 1<<31-1))
	}
	names, next, err := s.tables.Names.Lists.Names(ctx, lists.Views, req.ID, req.PageToken, limit)
	if err != nil {
		return nil, err
	}
	return &viewapi.ListMaterializedResponse{Views: names, PageToken: next}, nil
}
