package namespace

import (
	"context"

	"tiltyard/shared/catalog"
	"tiltyard/shared/protocol"
)

// List returns the names of the namespaces directly inside a namespace, in bytewise order.
func (s *Service) List(ctx context.Context, req *protocol.ListNamespacesRequest) (*protocol.ListNamespacesResponse, error) {
	limit, bounded := req.Bound()
	if !bounded {
		limit = catalog.All
	}
	names, next, err := s.names.ListNamespaces(ctx, req.ID, req.PageToken, int(limit))
	if err != nil {
		return nil, err
	}
	return &protocol.ListNamespacesResponse{Namespaces: names, PageToken: next}, nil
}
