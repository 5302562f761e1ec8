package secret

import (
	"context"

	"tiltyard/shared/protocol"
)

// Describe returns when a secret was created, and when its value was last replaced.
func (s *Service) Describe(ctx context.Context, req *protocol.SecretRequest) (*protocol.DescribeSecretResponse, error) {
	record, err := s.names.Secrets.Get(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	return &protocol.DescribeSecretResponse{
		Name: record.ID[len(record.ID)-1], CreatedAt: record.Created.UnixMilli(), UpdatedAt: record.Updated.UnixMilli(),
	}, nil
}
