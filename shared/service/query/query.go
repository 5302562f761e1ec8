package query

import (
	"context"

	"tiltyard/shared/catalog"
	"tiltyard/shared/protocol"
)

// Query returns rows of a table: all rows, the rows that a filter keeps, or the rows nearest to a
// vector.
func (s *Service) Query(ctx context.Context, req *protocol.QueryTableRequest) (*protocol.Rows, error) {
	return catalog.Read(ctx, s.tables.Names, req.ID, func(ctx context.Context, t *catalog.Table) (*protocol.Rows, error) {
		rows, err := s.tables.On(ctx, t, req.Branch)
		if err != nil {
			return nil, err
		}
		return rows.Query(ctx, req)
	})
}
