package secret

import (
	"context"

	"tiltyard/shared/protocol/secretapi"
)

// Describe returns when a secret was created, and when its value was last replaced.
func (s *Service) Describe(ctx context.Context, req *secretapi.Request) (*secretapi.DescribeResponse, error) {
	record, err := s.names.Secrets.Get(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	return &secretapi.DescribeResponse{
		Name: record.ID[len(record.ID)-1], CreatedAt: record.Created.UnixMilli(), UpdatedAt: record.Updated.UnixMilli(),
	}, nil
}
