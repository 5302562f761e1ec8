package index

import (
	"context"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/indices"
	"tiltyard/shared/protocol/indexapi"
	"tiltyard/shared/tables"
)

// Drop removes an index. Its files stay, because older versions still refer to them.
func (s *Service) Drop(ctx context.Context, req *indexapi.DropRequest) (*indexapi.DropResponse, error) {
	done, err := s.tables.Open(req.ID, req.Branch).Commit(ctx, func(t tables.Table) (engine.Written, error) {
		return indices.Drop(ctx, t.Table, req.IndexName)
	})
	if err != nil {
		return nil, err
	}
	return &indexapi.DropResponse{TransactionID: done.TransactionID}, nil
}
