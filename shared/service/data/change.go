package data

import (
	"context"

	"tiltyard/shared/engine"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/tables"
)

// Update sets columns to SQL expressions in the rows that match a predicate.
func (s *Service) Update(ctx context.Context, req *dataapi.UpdateRequest) (*dataapi.UpdateResponse, error) {
	assignments := make([]engine.Assignment, len(req.Updates))
	for i, pair := range req.Updates {
		assignments[i] = engine.Assignment{Column: pair[0], SQL: pair[1]}
	}
	done, err := s.tables.Open(req.ID, req.Branch).Commit(ctx, func(t tables.Table) (engine.Written, error) {
		return t.Update(ctx, assignments, req.Predicate)
	})
	if err != nil {
		return nil, err
	}
	return &dataapi.UpdateResponse{
		Dialect: req.Dialect, TransactionID: done.TransactionID, Version: done.Version,
		UpdatedRows: done.Updated, Properties: req.Properties,
	}, nil
}

// Delete deletes the rows that match a predicate.
func (s *Service) Delete(ctx context.Context, req *dataapi.DeleteRequest) (*dataapi.DeleteResponse, error) {
	done, err := s.tables.Open(req.ID, req.Branch).Commit(ctx, func(t tables.Table) (engine.Written, error) {
		return t.Delete(ctx, req.Predicate)
	})
	if err != nil {
		return nil, err
	}
	return &dataapi.DeleteResponse{
		TransactionID: done.TransactionID, Version: done.Version, NumDeletedRows: done.Deleted,
	}, nil
}
