package query

import (
	"context"

	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/tables"
)

// Prewarm reads columns of a table into the cache of this process, and so into the cache of ranges that it shares
// with others.
func (s *Service) Prewarm(ctx context.Context, req *queryapi.PrewarmRequest) (*queryapi.PrewarmResponse, error) {
	return tables.Read(ctx, s.tables.Open(req.ID, req.Branch), nil, func(ctx context.Context, v tables.Version) (*queryapi.PrewarmResponse, error) {
		return &queryapi.PrewarmResponse{}, v.Prewarm(ctx, req.Columns)
	})
}
