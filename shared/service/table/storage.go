package table

import (
	"context"

	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
)

// Storage returns how much of the data files each column takes.
func (s *Service) Storage(ctx context.Context, req *protocol.GetTableStorageRequest) (*protocol.GetTableStorageResponse, error) {
	return catalog.Read(ctx, s.tables.Names, req.ID, func(ctx context.Context, t *catalog.Table) (*protocol.GetTableStorageResponse, error) {
		at, err := s.tables.On(ctx, t, req.Branch)
		if err != nil {
			return nil, err
		}
		return engine.Read(ctx, at, req.Version, func(ctx context.Context, d *dataset.Dataset) (*protocol.GetTableStorageResponse, error) {
			found, err := d.Storage(ctx, req.Files())
			if err != nil {
				return nil, err
			}
			answer := &protocol.GetTableStorageResponse{
				Version: int64(d.Version()), TotalBytes: found.Bytes, OtherBytes: found.Other,
				Files: int64(found.Files), FilesRead: int64(found.Read), Estimated: found.Read < found.Files,
			}
			for i, field := range d.Schema().Fields {
				answer.Columns = append(answer.Columns, protocol.ColumnStorage{Name: field.Name, Bytes: found.Columns[i]})
			}
			return answer, nil
		})
	})
}
