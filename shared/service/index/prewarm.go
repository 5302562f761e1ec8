package index

import (
	"context"

	"tiltyard/shared/protocol"
	"tiltyard/shared/tables"
)

// Prewarm checks that the index exists. It reads nothing ahead, because queries do not use native
// indices yet.
func (s *Service) Prewarm(ctx context.Context, req *protocol.PrewarmTableIndexRequest) (*protocol.PrewarmTableIndexResponse, error) {
	return tables.Look(ctx, s.tables.Open(req.ID, req.Branch), func(ctx context.Context, t tables.Table) (*protocol.PrewarmTableIndexResponse, error) {
		_, err := t.Index(ctx, nil, req.IndexName)
		return &protocol.PrewarmTableIndexResponse{}, err
	})
}
