package query

import (
	"context"

	"tiltyard/shared/engine"
	"tiltyard/shared/protocol"
	"tiltyard/shared/tables"
)

// Query returns rows of a table or a view: all rows, the rows that a filter keeps, or the rows nearest to a
// vector.
func (s *Service) Query(ctx context.Context, req *protocol.QueryTableRequest) (*protocol.Rows, error) {
	return tables.Rows(ctx, s.tables.Open(req.ID, req.Branch), func(ctx context.Context, rows *engine.Table) (*protocol.Rows, error) {
		return rows.Query(ctx, req)
	})
}
