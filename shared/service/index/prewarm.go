package index

import (
	"context"

	"tiltyard/shared/catalog"
	"tiltyard/shared/protocol"
)

// Prewarm checks that the index exists. It reads nothing ahead, because queries do not use native
// indices yet.
func (s *Service) Prewarm(ctx context.Context, req *protocol.PrewarmTableIndexRequest) (*protocol.PrewarmTableIndexResponse, error) {
	return catalog.Read(ctx, s.tables.Names, req.ID, func(ctx context.Context, t *catalog.Table) (*protocol.PrewarmTableIndexResponse, error) {
		table, err := s.tables.On(ctx, t, req.Branch)
		if err == nil {
			_, err = table.Index(ctx, nil, req.IndexName)
		}
		return &protocol.PrewarmTableIndexResponse{}, err
	})
}
