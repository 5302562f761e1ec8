package index

import (
	"context"

	"tiltyard/shared/engine"
	"tiltyard/shared/protocol"
)

// Drop removes an index. Its files stay, because older versions still have the index.
func (s *Service) Drop(ctx context.Context, req *protocol.DropTableIndexRequest) (*protocol.DropTableIndexResponse, error) {
	done, err := s.tables.Change(ctx, req.ID, req.Branch, func(t *engine.Table) (engine.Written, error) {
		return t.DropIndex(ctx, req.IndexName)
	})
	if err != nil {
		return nil, err
	}
	return &protocol.DropTableIndexResponse{TransactionID: done.TransactionID}, nil
}
