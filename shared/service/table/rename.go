package table

import (
	"context"

	"tiltyard/shared/protocol"
)

// Rename gives a table another name, in the same or another namespace. Its data stays where it is.
func (s *Service) Rename(ctx context.Context, req *protocol.RenameTableRequest) (*protocol.RenameTableResponse, error) {
	if _, err := s.tables.Names.RenameTable(ctx, req.ID, req.NewID()); err != nil {
		return nil, err
	}
	to := map[string]string{"renamed_to": protocol.JoinID(req.NewID(), protocol.DefaultDelimiter)}
	return &protocol.RenameTableResponse{TransactionID: s.changed(ctx, "rename-table", req.ID, to)}, nil
}
