package table

import (
	"context"

	"tiltyard/shared/protocol"
)

// Purge deletes a dropped table or view before its time.
func (s *Service) Purge(ctx context.Context, req *protocol.PurgeTableRequest) (*protocol.PurgeTableResponse, error) {
	gone, err := s.tables.Names.Drops.Purge(ctx, req.ID, req.DropID)
	if err != nil {
		return nil, err
	}
	return &protocol.PurgeTableResponse{TransactionID: s.changed(ctx, "purge-table", gone.ID, nil), DropID: gone.Name}, nil
}
