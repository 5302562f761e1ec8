package data

import (
	"context"

	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol/dataapi"
)

// Insert appends uploaded rows to a table. In mode overwrite they replace all rows of the table.
// Rows for a table that was only declared create it. If the request is a part of a multipart write,
// its rows become visible when that write completes.
func (s *Service) Insert(ctx context.Context, req *dataapi.InsertRequest) (*dataapi.InsertResponse, error) {
	if req.UploadID != "" {
		return s.insertPart(ctx, req)
	}
	done, err := s.write(ctx, req.ID, req.Branch, req.Body, func(t *engine.Table, rows dataset.Rows) (engine.Written, error) {
		if req.Mode == dataapi.InsertModeOverwrite {
			return t.OverwriteRows(ctx, rows)
		}
		return t.Insert(ctx, rows)
	})
	if err != nil {
		return nil, err
	}
	return &dataapi.InsertResponse{
		TransactionID:   done.TransactionID,
		NumInsertedRows: done.Inserted, Version: done.Version,
	}, nil
}
