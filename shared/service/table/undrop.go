package table

import (
	"context"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/tableapi"
)

// Undrop restores a dropped table or view, under its former id or another one.
func (s *Service) Undrop(ctx context.Context, req *tableapi.UndropRequest) (*tableapi.UndropResponse, error) {
	to := req.NewID()
	back, err := s.tables.Names.Drops.UndropTable(ctx, req.ID, req.DropID, to)
	if err != nil {
		return nil, err
	}
	from := map[string]string{"dropped_as": protocol.JoinID(req.ID, protocol.DefaultDelimiter)}
	return &tableapi.UndropResponse{TransactionID: s.changed(ctx, "undrop-table", to, from), ID: to, DropID: back.Name}, nil
}
