package namespace

import (
	"context"

	"tiltyard/shared/protocol"
)

// Describe returns the properties of a namespace.
func (s *Service) Describe(ctx context.Context, req *protocol.DescribeNamespaceRequest) (*protocol.DescribeNamespaceResponse, error) {
	found, err := s.names.Namespaces.Get(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	return &protocol.DescribeNamespaceResponse{Properties: found.Properties}, nil
}
