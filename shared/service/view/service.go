// Package view implements the operations on views.
package view

import (
	"context"

	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/engine/view"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/jobs"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/viewapi"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/jobtable"
	"tiltyard/shared/work/refresh"
)

// A Service implements the operations on views.
type Service struct{ tables tables.Tables }

// New returns the service over tables.
func New(tables tables.Tables) *Service { return &Service{tables} }

// Routes returns the routes of the service.
func (s *Service) Routes() []httpapi.Route {
	return []httpapi.Route{
		httpapi.JSON("CreateMaterializedView", s.CreateMaterialized).Within(viewapi.MaxBody),
		httpapi.JSON("RefreshMaterializedView", s.RefreshMaterialized),
		httpapi.JSON("RefreshTable", s.RefreshMaterialized),
		httpapi.JSON("DescribeMaterializedView", s.DescribeMaterialized),
		httpapi.JSON("DropMaterializedView", s.DropMaterialized),
		httpapi.JSON("ListMaterializedViews", s.ListMaterialized),
		httpapi.JSON("CreateView", s.CreatePlain),
		httpapi.JSON("DescribeView", s.DescribePlain),
		httpapi.JSON("DropView", s.DropPlain),
		httpapi.JSON("ListViews", s.ListPlain),
	}
}

// source returns the table that a view reads. The sender must be permitted to read all of its rows,
// because readers of the view will see them; else the error is PermissionDenied.
func (s *Service) source(ctx context.Context, id []string) (*catalog.Table, error) {
	found, err := s.tables.Names.Table(ctx, id)
	if protocol.HasCode(err, protocol.InvalidInput) {
		return nil, &protocol.Error{
			Code: protocol.InvalidInput, Message: "the source of the view: " + err.Error(), Err: err,
			Detail: "a materialized view reads a table, or another materialized view; write the query of a view over its own source",
		}
	}
	if err != nil {
		return nil, err
	}
	return found, auth.CheckReads(ctx, id)
}

// begin begins a job that refreshes a view.
func (s *Service) begin(ctx context.Context, id []string, v *stored.View, d *view.Definition, order refresh.Order) (string, error) {
	starter, err := s.jobs()
	if err != nil {
		return "", err
	}
	order.UID, order.Digest = v.UID, d.Digest()
	if order.Mark, err = jobtable.Exists(ctx, s.tables); err != nil {
		return "", err
	}
	begun, err := starter.Begin(ctx, refresh.Kind, id, order)
	if err != nil {
		return "", err
	}
	order.Announce(ctx, s.tables, begun)
	return begun.ID, nil
}

// jobs returns the starter of jobs, or an error if the deployment has none.
func (s *Service) jobs() (*jobs.Starter, error) {
	if s.tables.Jobs == nil {
		return nil, &protocol.Error{
			Code: protocol.Unsupported, Message: "this deployment has no workers, which refresh views", Detail: "configure a queue of jobs (TILTYARD_JOBS)",
		}
	}
	return s.tables.Jobs, nil
}
