package version

import (
	"context"

	"tiltyard/shared/engine"
	"tiltyard/shared/protocol"
	"tiltyard/shared/tables"
)

// Restore makes a new version with the contents of an old one.
func (s *Service) Restore(ctx context.Context, req *protocol.RestoreTableRequest) (*protocol.RestoreTableResponse, error) {
	done, err := s.tables.Open(req.ID, req.Branch).Commit(ctx, func(t tables.Table) (engine.Written, error) {
		return t.Restore(ctx, uint64(*req.Version))
	})
	if err != nil {
		return nil, err
	}
	return &protocol.RestoreTableResponse{TransactionID: done.TransactionID}, nil
}
