package query

import (
	"context"

	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/protocol"
)

// Query returns rows of a table: all, those that a filter keeps, or those nearest to a
// vector.
func (s *Service) Query(ctx context.Context, req *protocol.QueryTableRequest) (*protocol.Rows, error) {
	return catalog.Read(ctx, s.names, req.ID, func(ctx context.Context, t *catalog.Table) (*protocol.Rows, error) {
		rows, err := s.on(ctx, t, req.Branch)
		if err != nil {
			return nil, err
		}
		return rows.Query(ctx, req)
	})
}

// on returns a branch of a table that the catalog has found; "" is the table itself.
func (s *Service) on(ctx context.Context, t *catalog.Table, branch string) (*engine.Table, error) {
	return s.rows.Table(t.ID, t.Location, t.Hint).On(ctx, branch)
}
