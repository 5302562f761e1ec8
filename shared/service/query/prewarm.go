package query

import (
	"context"

	"tiltyard/shared/catalog"
	"tiltyard/shared/protocol"
)

// Prewarm reads columns of a table into the cache of this process.
func (s *Service) Prewarm(ctx context.Context, req *protocol.PrewarmTableRequest) (*protocol.PrewarmTableResponse, error) {
	return catalog.Read(ctx, s.tables.Names, req.ID, func(ctx context.Context, t *catalog.Table) (*protocol.PrewarmTableResponse, error) {
		rows, err := s.tables.On(ctx, t, req.Branch)
		if err == nil {
			err = rows.Prewarm(ctx, req.Columns)
		}
		return &protocol.PrewarmTableResponse{}, err
	})
}
