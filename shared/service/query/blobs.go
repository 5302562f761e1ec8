package query

import (
	"context"

	"tiltyard/shared/catalog"
	"tiltyard/shared/protocol"
)

// FetchBlobs returns whole values of a blob column.
func (s *Service) FetchBlobs(ctx context.Context, req *protocol.FetchTableBlobsRequest) (*protocol.Rows, error) {
	return catalog.Read(ctx, s.tables.Names, req.ID, func(ctx context.Context, t *catalog.Table) (*protocol.Rows, error) {
		rows, err := s.tables.On(ctx, t, req.Branch)
		if err != nil {
			return nil, err
		}
		return rows.FetchBlobs(ctx, req)
	})
}

// ReadBlob opens one value of a blob column, which the client can read in parts.
func (s *Service) ReadBlob(ctx context.Context, req *protocol.ReadTableBlobRequest) (*protocol.Bytes, error) {
	return catalog.Read(ctx, s.tables.Names, req.ID, func(ctx context.Context, t *catalog.Table) (*protocol.Bytes, error) {
		rows, err := s.tables.On(ctx, t, req.Branch)
		if err != nil {
			return nil, err
		}
		return rows.ReadBlob(ctx, req)
	})
}
