package query

import (
	"context"

	"tiltyard/shared/engine"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/tables"
)

// Count counts the rows of a table or a view that match a predicate, or all rows.
func (s *Service) Count(ctx context.Context, req *queryapi.CountRowsRequest) (*queryapi.CountRowsResponse, error) {
	return tables.Rows(ctx, s.tables.Open(req.ID, req.Branch), func(ctx context.Context, rows *engine.Table) (*queryapi.CountRowsResponse, error) {
		count, err := rows.Count(ctx, asOf(req.Version, req.LogUse), req.Predicate)
		return &queryapi.CountRowsResponse{Count: count.Rows, Version: count.Version}, err
	})
}
