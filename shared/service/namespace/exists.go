package namespace

import (
	"context"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/namespaceapi"
)

// Exists checks that a namespace exists.
func (s *Service) Exists(ctx context.Context, req *namespaceapi.ExistsRequest) (*protocol.Empty, error) {
	if _, err := s.names.Namespaces.Get(ctx, req.ID); err != nil {
		return nil, err
	}
	return &protocol.Empty{}, nil
}
