package secret

import (
	"context"

	"tiltyard/shared/protocol/secretapi"
)

// Describe returns the times at which a secret was created and last changed.
func (s *Service) Describe(ctx context.Context, req *secretapi.Request) (*secretapi.DescribeResponse, error) {
	record, err := s.names.Secrets.Get(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	return &secretapi.DescribeResponse{
		Name: record.ID[len(record.ID)-1], CreatedAt: record.Created.UnixMilli(), UpdatedAt: record.Updated.UnixMilli(),
	}, nil
}
