package transaction

import (
	"context"

	"tiltyard/shared/catalog/upkeep"
	"tiltyard/shared/protocol"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/maintain"
)

// MaintainTable begins a job that compacts a table, brings its indices up to date and cleans it up, or some of
// these. In a dry run it returns what the job would do.
func (s *Service) MaintainTable(ctx context.Context, req *protocol.MaintainTableRequest) (*protocol.MaintainTableResponse, error) {
	order, err := s.order(ctx, req)
	if err != nil {
		return nil, err
	}
	if req.DryRun {
		report, err := s.keeper.DryRun(ctx, req.ID, order)
		if err != nil {
			return nil, err
		}
		return &protocol.MaintainTableResponse{Report: report}, nil
	}
	if s.tables.Jobs == nil {
		return nil, errNoJobs
	}
	begun, err := s.tables.Jobs.Begin(ctx, tables.MaintainKind, req.ID, order)
	if err != nil {
		return nil, err
	}
	return &protocol.MaintainTableResponse{JobID: begun.ID, TransactionID: begun.ID}, nil
}

// order returns the order of a job: the settings of the request, and for those it leaves out the
// properties of the table.
func (s *Service) order(ctx context.Context, req *protocol.MaintainTableRequest) (maintain.Order, error) {
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
