package namespace

import (
	"context"

	"tiltyard/shared/protocol"
)

// Exists succeeds and fails as Describe does, and returns no properties.
func (s *Service) Exists(ctx context.Context, req *protocol.NamespaceExistsRequest) (*protocol.Empty, error) {
	if _, err := s.names.Namespaces.Get(ctx, req.ID); err != nil {
		return nil, err
	}
	return &protocol.Empty{}, nil
}
