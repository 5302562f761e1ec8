package table

import (
	"context"

	"tiltyard/shared/protocol/tableapi"
)

// Purge deletes a dropped table or view before its retention ends.
func (s *Service) Purge(ctx context.Context, req *tableapi.PurgeRequest) (*tableapi.PurgeResponse, error) {
	gone, err := s.tables.Names.Drops.Purge(ctx, req.ID, req.DropID)
	if err != nil {
		return nil, err
	}
	return &tableapi.PurgeResponse{TransactionID: s.changed(ctx, "purge-table", gone.ID, nil), DropID: gone.Name}, nil
}
