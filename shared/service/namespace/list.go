package namespace

import (
	"context"

	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/protocol/namespaceapi"
)

// List returns the names of the namespaces directly inside a namespace, in bytewise order.
func (s *Service) List(ctx context.Context, req *namespaceapi.ListRequest) (*namespaceapi.ListResponse, error) {
	limit, bounded := req.Bound()
	if !bounded {
		limit = lists.NoLimit
	}
	names, next, err := s.names.Lists.Names(ctx, lists.Namespaces, req.ID, req.PageToken, int(limit))
	if err != nil {
		return nil, err
	}
	return &namespaceapi.ListResponse{Namespaces: names, PageToken: next}, nil
}
