package schema

import (
	"context"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/fill"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/schemaapi"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/backfill"
	"tiltyard/shared/work/jobtable"
)

// Backfill begins a job that computes the values of a computed column.
func (s *Service) Backfill(ctx context.Context, req *schemaapi.BackfillColumnsRequest) (*schemaapi.BackfillColumnsResponse, error) {
	if s.tables.Jobs == nil {
		return nil, &protocol.Error{
			Code: protocol.Unsupported, Message: "this deployment has no workers, which fill columns", Detail: "configure a queue of jobs (TILTYARD_JOBS)",
		}
	}
	order := backfill.Order{
		Column: req.Column, Where: req.Where, Version: req.ReadVersion,
		Fragments: number(req.Fragments), PerCommit: number(req.Granularity), Parts: number(req.Concurrency), Branch: protocol.BranchName(req.Branch),
		TaskSize: int64(number(req.TaskSize)), CheckpointSize: int64(number(req.CheckpointSize)),
	}
	use, err := tables.Rows(ctx, s.tables.Open(req.ID, order.Branch), func(ctx context.Context, t *engine.Table) (*schemaapi.FunctionBinding, error) {
		work := order.Work()
		work.Runs = s.tables.Runs
		return fill.Check(ctx, t, work)
	})
	if err != nil {
		return nil, err
	}
	if use != nil {
		// Any writer of a table, including native ones, can change its metadata. A worker may call every
		// function and open every secret, so the caller must have the right to use the ones that the
		// metadata names.
		if _, err := s.useFunction(ctx, use.Function); err != nil {
			return nil, err
		}
		if err := s.adoptUse(ctx, req.ID, use); err != nil {
			return nil, err
		}
		order.Function, order.Use = &use.Function, use.ID
	}
	if order.Mark, err = jobtable.Exists(ctx, s.tables); err != nil {
		return nil, err
	}
	begun, err := s.tables.Jobs.Begin(ctx, backfill.Kind, req.ID, order)
	if err != nil {
		return nil, err
	}
	order.Announce(ctx, s.tables, begun)
	return &schemaapi.BackfillColumnsResponse{JobID: begun.ID, TransactionID: begun.ID}, nil
}

// adoptUse makes the sender the principal for whom the columns call a function, if the former principal has lost its
// rights. Under policies it does nothing, because a writer of the metadata could then exploit the rights of the sender.
func (s *Service) adoptUse(ctx context.Context, id []string, use *schemaapi.FunctionBinding) error {
	if auth.Limited(ctx) {
		return nil
	}
	what, err := backfill.Allowance(use)
	if err != nil {
		return err
	}
	found, err := s.tables.Names.Table(ctx, id)
	if err != nil {
		return err
	}
	if _, err = s.tables.Rights.As(ctx, found.UserOf(what)); protocol.HasCode(err, protocol.PermissionDenied) {
		err = s.tables.Names.AllowUse(ctx, found, what, auth.FromContext(ctx))
	}
	return err
}

// number returns an optional count, or 0 if it is missing.
func number(n *int64) int {
	if n == nil {
		return 0
	}
	return int(*n)
}
