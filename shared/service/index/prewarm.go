package index

import (
	"context"

	"tiltyard/shared/protocol/indexapi"
	"tiltyard/shared/tables"
)

// Prewarm checks that the index exists. It reads nothing ahead, because queries do not use native
// indices yet.
func (s *Service) Prewarm(ctx context.Context, req *indexapi.PrewarmRequest) (*indexapi.PrewarmResponse, error) {
	return tables.Look(ctx, s.tables.Open(req.ID, req.Branch), func(ctx context.Context, t tables.Table) (*indexapi.PrewarmResponse, error) {
		_, err := t.Index(ctx, nil, req.IndexName)
		return &indexapi.PrewarmResponse{}, err
	})
}
