package table

import (
	"context"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/tables"
)

// Exists checks that a table exists, or that it has the version of the request. A table that is
// only declared exists.
func (s *Service) Exists(ctx context.Context, req *tableapi.ExistsRequest) (*protocol.Empty, error) {
	if req.Version == nil {
		_, err := s.tables.Names.Table(ctx, req.ID)
		return &protocol.Empty{}, err
	}
	return tables.Read(ctx, s.tables.Open(req.ID, ""), req.Version, func(context.Context, tables.Version) (*protocol.Empty, error) {
		return &protocol.Empty{}, nil
	})
}
