package data

import (
	"context"

	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
)

// Insert adds uploaded rows to a table, or in mode overwrite puts them in place of all
// that it holds. A table that was only declared is created by them.
func (s *Service) Insert(ctx context.Context, req *protocol.InsertIntoTableRequest) (*protocol.InsertIntoTableResponse, error) {
	if req.UploadID != "" || req.UploadPartID != "" {
		return nil, protocol.Errorf(protocol.Unsupported, "multipart writes (upload_id, upload_part_id) are not supported yet")
	}
	done, err := s.write(ctx, req.ID, req.Branch, req.Body, func(t *engine.Table, rows dataset.Rows, confirm func() error) (engine.Written, error) {
		if req.Mode == protocol.InsertModeOverwrite {
			return t.Overwrite(ctx, rows, confirm)
		}
		return t.Insert(ctx, rows, confirm)
	})
	if err != nil {
		return nil, err
	}
	return &protocol.InsertIntoTableResponse{
		TransactionID:   done.TransactionID,
		NumInsertedRows: done.Inserted, Version: done.Version,
	}, nil
}
