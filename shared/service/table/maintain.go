package table

import (
	"context"

	"tiltyard/shared/catalog/upkeep"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/maintain"
)

// Maintenance implements the operation that maintains a table. A separate Lambda function serves it.
type Maintenance struct {
	tables tables.Tables
	keeper *maintain.Keeper
}

// NewMaintenance returns the service over tables. The keeper performs dry runs.
func NewMaintenance(tables tables.Tables, keeper *maintain.Keeper) *Maintenance {
	return &Maintenance{tables, keeper}
}

// Routes returns the route of the operation.
func (s *Maintenance) Routes() []httpapi.Route {
	return []httpapi.Route{httpapi.JSON("MaintainTable", s.Maintain)}
}

// Maintain begins a job that compacts a table, updates its indices and cleans it up, or some of
// these. In a dry run it returns the expected result of the job.
func (s *Maintenance) Maintain(ctx context.Context, req *tableapi.MaintainRequest) (*tableapi.MaintainResponse, error) {
	order, err := s.order(ctx, req)
	if err != nil {
		return nil, err
	}
	if req.DryRun {
		report, err := s.keeper.DryRun(ctx, req.ID, order)
		if err != nil {
			return nil, err
		}
		return &tableapi.MaintainResponse{Report: report}, nil
	}
	if s.tables.Jobs == nil {
		return nil, &protocol.Error{
			Code: protocol.Unsupported, Message: "this deployment has no workers", Detail: "configure a queue of jobs (TILTYARD_JOBS)",
		}
	}
	begun, err := s.tables.Jobs.Begin(ctx, tables.MaintainKind, req.ID, order)
	if err != nil {
		return nil, err
	}
	return &tableapi.MaintainResponse{JobID: begun.ID, TransactionID: begun.ID}, nil
}

// order returns the order of a job. The properties of the table replace missing settings of the
// request.
func (s *Maintenance) order(ctx context.Context, req *tableapi.MaintainRequest) (maintain.Order, error) {
	policy, err := maintain.PolicyOf(ctx, s.tables.Names, req.ID)
	if err != nil {
		return maintain.Order{}, err
	}
	order := maintain.Order{
		Compact: req.Wants(req.Compact), Indices: req.Wants(req.Indices), Cleanup: req.Wants(req.Cleanup),
		Retention: policy.Retention, Keep: policy.Keep,
	}
	if req.OlderThan != "" {
		if order.Retention, err = upkeep.ParseRetention(req.OlderThan); err != nil {
			return order, protocol.Errorf(protocol.InvalidInput, "older_than: %w", err)
		}
	}
	if req.KeepVersions != nil {
		order.Keep = *req.KeepVersions
	}
	return order, nil
}
