package query

import (
	"context"

	"tiltyard/shared/catalog"
	"tiltyard/shared/protocol"
)

// Query returns rows of a table: all, those that a filter keeps, or those nearest to a
// vector.
func (s *Service) Query(ctx context.Context, req *protocol.QueryTableRequest) (*protocol.Rows, error) {
	if err := protocol.OnMain(req.Branch); err != nil {
		return nil, err
	}
	return catalog.Read(ctx, s.names, req.ID, func(ctx context.Context, t *catalog.Table) (*protocol.Rows, error) {
		return s.rows.Table(t.ID, t.Location, t.Hint).Query(ctx, req)
	})
}
