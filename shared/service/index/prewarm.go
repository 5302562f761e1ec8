package index

import (
	"context"

	"tiltyard/shared/protocol/indexapi"
	"tiltyard/shared/tables"
)

// Prewarm checks that the index exists. It loads nothing.
func (s *Service) Prewarm(ctx context.Context, req *indexapi.PrewarmRequest) (*indexapi.PrewarmResponse, error) {
	return tables.Read(ctx, s.tables.Open(req.ID, req.Branch), nil, func(_ context.Context, v tables.Version) (*indexapi.PrewarmResponse, error) {
		_, err := v.Index(req.IndexName)
		return &indexapi.PrewarmResponse{}, err
	})
}
