package query

import (
	"context"

	"tiltyard/shared/engine/blobs"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/tables"
)

// FetchBlobs returns complete values of a blob column.
func (s *Service) FetchBlobs(ctx context.Context, req *queryapi.FetchBlobsRequest) (*protocol.Rows, error) {
	return tables.Inspect(ctx, s.tables.Open(req.ID, req.Branch), func(ctx context.Context, t tables.Table) (*protocol.Rows, error) {
		return blobs.Fetch(ctx, t.Table, req.Version, req.Column, req.RowIDs)
	})
}

// ReadBlob opens one value of a blob column for reading in parts.
func (s *Service) ReadBlob(ctx context.Context, req *queryapi.ReadBlobRequest) (*protocol.Bytes, error) {
	return tables.Inspect(ctx, s.tables.Open(req.ID, req.Branch), func(ctx context.Context, t tables.Table) (*protocol.Bytes, error) {
		id, err := req.Row()
		if err != nil {
			return nil, err
		}
		return blobs.Open(ctx, t.Table, req.Version, req.Column, id)
	})
}
