package table

import (
	"context"

	"tiltyard/shared/protocol"
)

// Drop removes a table: first its name, then its data.
func (s *Service) Drop(ctx context.Context, req *protocol.DropTableRequest) (*protocol.DropTableResponse, error) {
	gone, err := s.tables.Names.DropTable(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	return &protocol.DropTableResponse{
		TransactionID: s.changed(ctx, "drop-table", gone.ID, nil),
		ID:            gone.ID, Location: gone.Location.URI, Properties: gone.Properties,
		Warning: gone.DependentsWarning(ctx),
	}, nil
}
