package table

import (
	"context"

	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/tables"
)

// Storage returns the bytes of each column in the data files.
func (s *Service) Storage(ctx context.Context, req *tableapi.GetStorageRequest) (*tableapi.GetStorageResponse, error) {
	return tables.Read(ctx, s.tables.Open(req.ID, req.Branch), req.Version, func(ctx context.Context, d tables.Version) (*tableapi.GetStorageResponse, error) {
		found, err := d.Storage(ctx, req.Files())
		if err != nil {
			return nil, err
		}
		answer := &tableapi.GetStorageResponse{
			Version: int64(d.Version()), TotalBytes: found.Bytes, OtherBytes: found.Other,
			Files: int64(found.Files), FilesRead: int64(found.Read), Estimated: found.Read < found.Files,
		}
		for i, field := range d.Schema().Fields {
			answer.Columns = append(answer.Columns, tableapi.ColumnStorage{Name: field.Name, Bytes: found.Columns[i]})
		}
		return answer, nil
	})
}
