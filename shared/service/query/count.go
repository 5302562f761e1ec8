package query

import (
	"context"

	"tiltyard/shared/engine"
	"tiltyard/shared/protocol"
	"tiltyard/shared/tables"
)

// Count counts the rows of a table or a view, or those that match a predicate.
func (s *Service) Count(ctx context.Context, req *protocol.CountTableRowsRequest) (*protocol.CountTableRowsResponse, error) {
	return tables.Rows(ctx, s.tables.Open(req.ID, req.Branch), func(ctx context.Context, rows *engine.Table) (*protocol.CountTableRowsResponse, error) {
		count, err := rows.Count(ctx, asOf(req.Version, req.LogUse), req.Predicate)
		return &protocol.CountTableRowsResponse{Count: count.Rows, Version: count.Version}, err
	})
}
