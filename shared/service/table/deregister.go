package table

import (
	"context"

	"tiltyard/shared/protocol"
)

// Deregister removes the name of a table. Its data stays where it is.
func (s *Service) Deregister(ctx context.Context, req *protocol.DeregisterTableRequest) (*protocol.DeregisterTableResponse, error) {
	gone, err := s.tables.Names.DeregisterTable(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	return &protocol.DeregisterTableResponse{
		TransactionID: s.changed(ctx, "deregister-table", gone.ID, nil),
		ID:            gone.ID, Location: gone.Location.URI, Properties: gone.Properties,
	}, nil
}
