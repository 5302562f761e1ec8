package table

import (
	"context"

	"tiltyard/shared/protocol/tableapi"
)

// Deregister removes the name of a table. Its data stays.
func (s *Service) Deregister(ctx context.Context, req *tableapi.DeregisterRequest) (*tableapi.DeregisterResponse, error) {
	gone, err := s.tables.Names.DeregisterTable(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	return &tableapi.DeregisterResponse{
		TransactionID: s.changed(ctx, "deregister-table", gone.ID, nil),
		ID:            gone.ID, Location: gone.Location.URI, Properties: gone.Properties,
	}, nil
}
