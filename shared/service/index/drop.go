package index

import (
	"context"

	"tiltyard/shared/engine"
	"tiltyard/shared/protocol"
	"tiltyard/shared/tables"
)

// Drop removes an index. Its files stay, because older versions still have the index.
func (s *Service) Drop(ctx context.Context, req *protocol.DropTableIndexRequest) (*protocol.DropTableIndexResponse, error) {
	done, err := s.tables.Open(req.ID, req.Branch).Commit(ctx, func(t tables.Table) (engine.Written, error) {
		return t.DropIndex(ctx, req.IndexName)
	})
	if err != nil {
		return nil, err
	}
	return &protocol.DropTableIndexResponse{TransactionID: done.TransactionID}, nil
}
