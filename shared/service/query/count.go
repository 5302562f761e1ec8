package query

import (
	"context"

	"tiltyard/shared/catalog"
	"tiltyard/shared/protocol"
)

// Count tells how many rows a table has, or how many of them match a predicate.
func (s *Service) Count(ctx context.Context, req *protocol.CountTableRowsRequest) (*protocol.CountTableRowsResponse, error) {
	return catalog.Read(ctx, s.tables.Names, req.ID, func(ctx context.Context, t *catalog.Table) (*protocol.CountTableRowsResponse, error) {
		rows, err := s.tables.On(ctx, t, req.Branch)
		if err != nil {
			return nil, err
		}
		return rows.Count(ctx, req.Version, req.Predicate)
	})
}
