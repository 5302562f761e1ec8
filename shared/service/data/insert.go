package data

import (
	"context"

	"tiltyard/shared/engine"
	"tiltyard/shared/protocol"
)

// Insert adds uploaded rows to a table, or in mode overwrite puts them in place of all
// that it holds. A table that was only declared is created by them.
func (s *Service) Insert(ctx context.Context, req *protocol.InsertIntoTableRequest) (*protocol.InsertIntoTableResponse, error) {
	if err := protocol.OnMain(req.Branch); err != nil {
		return nil, err
	}
	if req.UploadID != "" || req.UploadPartID != "" {
		return nil, protocol.Errorf(protocol.Unsupported, "multipart writes (upload_id, upload_part_id) are not supported yet")
	}
	found, err := s.names.Lookup(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	rows, err := s.open(req.Body)
	if err != nil {
		return nil, err
	}
	table := s.rows.Table(found.Table.ID, found.Table.Location, found.Table.Hint)
	write := table.Insert
	if req.Mode == protocol.InsertModeOverwrite {
		write = table.Overwrite
	}
	done, err := write(ctx, rows, confirmed(found))
	if engine.IsDeclared(err) {
		done, err = fill(ctx, found, table, rows)
	}
	if err != nil {
		return nil, err
	}
	found.Hint(ctx, uint64(done.Version))
	return &protocol.InsertIntoTableResponse{NumInsertedRows: done.Inserted, Version: done.Version}, nil
}
