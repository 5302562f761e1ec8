package table

import (
	"context"

	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
)

// Exists checks that a table exists, or that it has the version of the request. A table that is
// only declared exists.
func (s *Service) Exists(ctx context.Context, req *protocol.TableExistsRequest) (*protocol.Empty, error) {
	if req.Version == nil {
		_, err := s.tables.Names.Table(ctx, req.ID)
		return &protocol.Empty{}, err
	}
	return catalog.Read(ctx, s.tables.Names, req.ID, func(ctx context.Context, t *catalog.Table) (*protocol.Empty, error) {
		return engine.Read(ctx, s.tables.At(t), req.Version, func(context.Context, *dataset.Dataset) (*protocol.Empty, error) {
			return &protocol.Empty{}, nil
		})
	})
}
