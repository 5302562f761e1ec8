package query

import (
	"context"

	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/protocol"
)

// Explain tells how a query would be answered.
func (s *Service) Explain(ctx context.Context, req *protocol.ExplainTableQueryPlanRequest) (*protocol.QueryPlan, error) {
	return s.tell(ctx, req.ID, req.Branch, func(ctx context.Context, rows *engine.Table) (string, error) {
		return rows.Explain(ctx, req.Query, req.Verbose)
	})
}

// Analyze answers a query and tells how, instead of its rows.
func (s *Service) Analyze(ctx context.Context, req *protocol.AnalyzeTableQueryPlanRequest) (*protocol.QueryPlan, error) {
	return s.tell(ctx, req.ID, req.Branch, func(ctx context.Context, rows *engine.Table) (string, error) {
		return rows.Analyze(ctx, &req.QueryTableRequest)
	})
}

// tell answers with what ask says of a table.
func (s *Service) tell(ctx context.Context, id []string, branch string, ask func(context.Context, *engine.Table) (string, error)) (*protocol.QueryPlan, error) {
	return catalog.Read(ctx, s.tables.Names, id, func(ctx context.Context, t *catalog.Table) (*protocol.QueryPlan, error) {
		rows, err := s.tables.On(ctx, t, branch)
		if err != nil {
			return nil, err
		}
		text, err := ask(ctx, rows)
		return (*protocol.QueryPlan)(&text), err
	})
}
