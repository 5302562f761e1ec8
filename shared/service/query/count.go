package query

import (
	"context"

	"tiltyard/shared/catalog"
	"tiltyard/shared/protocol"
)

// Count counts the rows of a table, or those that match a predicate.
func (s *Service) Count(ctx context.Context, req *protocol.CountTableRowsRequest) (*protocol.CountTableRowsResponse, error) {
	return catalog.Read(ctx, s.tables.Names, req.ID, func(ctx context.Context, t *catalog.Table) (*protocol.CountTableRowsResponse, error) {
		rows, err := s.tables.On(ctx, t, req.Branch)
		if err != nil {
			return nil, err
		}
		return rows.Count(ctx, req.Version, req.Predicate)
	})
}
