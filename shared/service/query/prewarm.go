package query

import (
	"context"

	"tiltyard/shared/protocol"
	"tiltyard/shared/tables"
)

// Prewarm reads columns of a table into the cache of this process.
func (s *Service) Prewarm(ctx context.Context, req *protocol.PrewarmTableRequest) (*protocol.PrewarmTableResponse, error) {
	return tables.Look(ctx, s.tables.Open(req.ID, req.Branch), func(ctx context.Context, t tables.Table) (*protocol.PrewarmTableResponse, error) {
		return &protocol.PrewarmTableResponse{}, t.Prewarm(ctx, req.Columns)
	})
}
