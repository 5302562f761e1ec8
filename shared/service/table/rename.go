package table

import (
	"context"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/tableapi"
)

// Rename gives a table another name, in the same or another namespace. Its data stays where it is.
func (s *Service) Rename(ctx context.Context, req *tableapi.RenameRequest) (*tableapi.RenameResponse, error) {
	if _, err := s.tables.Names.RenameTable(ctx, req.ID, req.NewID()); err != nil {
		return nil, err
	}
	to := map[string]string{"renamed_to": protocol.JoinID(req.NewID(), protocol.DefaultDelimiter)}
	return &tableapi.RenameResponse{TransactionID: s.changed(ctx, "rename-table", req.ID, to)}, nil
}
