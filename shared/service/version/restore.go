package version

import (
	"context"

	"tiltyard/shared/engine"
	"tiltyard/shared/protocol/versionapi"
	"tiltyard/shared/tables"
)

// Restore creates a new version with the contents of an old one.
func (s *Service) Restore(ctx context.Context, req *versionapi.RestoreRequest) (*versionapi.RestoreResponse, error) {
	done, err := s.tables.Open(req.ID, req.Branch).Commit(ctx, func(t tables.Table) (engine.Written, error) {
		return t.Restore(ctx, uint64(*req.Version))
	})
	if err != nil {
		return nil, err
	}
	return &versionapi.RestoreResponse{TransactionID: done.TransactionID}, nil
}
