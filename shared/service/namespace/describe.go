package namespace

import (
	"context"

	"tiltyard/shared/protocol/namespaceapi"
)

// Describe returns the properties of a namespace.
func (s *Service) Describe(ctx context.Context, req *namespaceapi.DescribeRequest) (*namespaceapi.DescribeResponse, error) {
	found, err := s.names.Namespaces.Get(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	return &namespaceapi.DescribeResponse{Properties: found.Properties}, nil
}
