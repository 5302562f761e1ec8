package query

import (
	"context"

	"tiltyard/shared/engine"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/tables"
)

// Explain returns the plan of a query.
func (s *Service) Explain(ctx context.Context, req *queryapi.ExplainPlanRequest) (*queryapi.Plan, error) {
	return s.text(ctx, req.ID, req.Branch, func(ctx context.Context, rows *engine.Table) (string, error) {
		return rows.Explain(ctx, asOf(req.Query.Version, req.Query.LogUse), queryOf(req.Query), req.Verbose)
	})
}

// Analyze runs a query and returns its plan with measurements instead of the rows.
func (s *Service) Analyze(ctx context.Context, req *queryapi.AnalyzePlanRequest) (*queryapi.Plan, error) {
	return s.text(ctx, req.ID, req.Branch, func(ctx context.Context, rows *engine.Table) (string, error) {
		return rows.Analyze(ctx, asOf(req.Version, req.LogUse), queryOf(&req.Request))
	})
}

// text returns an answer that consists of the text from ask.
func (s *Service) text(ctx context.Context, id []string, branch string, ask func(context.Context, *engine.Table) (string, error)) (*queryapi.Plan, error) {
	return tables.Rows(ctx, s.tables.Open(id, branch), func(ctx context.Context, rows *engine.Table) (*queryapi.Plan, error) {
		text, err := ask(ctx, rows)
		return (*queryapi.Plan)(&text), err
	})
}
