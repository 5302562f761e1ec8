package secret

import (
	"context"

	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/protocol/secretapi"
)

// List returns the names of the secrets in a namespace.
func (s *Service) List(ctx context.Context, req *secretapi.ListRequest) (*secretapi.ListResponse, error) {
	limit := lists.NoLimit
	if most, bounded := req.Bound(); bounded {
		limit = int(min(most, 1<<31-1))
	}
	names, next, err := s.names.Lists.Names(ctx, lists.Secrets, req.ID, req.PageToken, limit)
	if err != nil {
		return nil, err
	}
	answer := &secretapi.ListResponse{PageToken: next}
	for _, name := range names {
		answer.Secrets = append(answer.Secrets, secretapi.Listed{Name: name})
	}
	return answer, nil
}
