package namespace

import (
	"context"

	"tiltyard/shared/protocol/namespaceapi"
)

// Undrop restores a dropped namespace with everything that was dropped with it. After an error, a
// repetition continues with the rest.
func (s *Service) Undrop(ctx context.Context, req *namespaceapi.UndropRequest) (*namespaceapi.UndropResponse, error) {
	to := req.NewID
	if len(to) == 0 {
		to = req.ID
	}
	restored, err := s.names.Drops.UndropNamespace(ctx, req.ID, req.DropID, to)
	if err != nil {
		return nil, err
	}
	return &namespaceapi.UndropResponse{ID: to, Restored: int64(restored)}, nil
}
