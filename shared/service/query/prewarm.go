package query

import (
	"context"

	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/tables"
)

// Prewarm reads columns of a table into the cache of this process.
func (s *Service) Prewarm(ctx context.Context, req *queryapi.PrewarmRequest) (*queryapi.PrewarmResponse, error) {
	return tables.Look(ctx, s.tables.Open(req.ID, req.Branch), func(ctx context.Context, t tables.Table) (*queryapi.PrewarmResponse, error) {
		return &queryapi.PrewarmResponse{}, t.Prewarm(ctx, req.Columns)
	})
}
