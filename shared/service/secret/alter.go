package secret

import (
	"context"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/secretapi"
)

// Alter replaces the value of a secret.
func (s *Service) Alter(ctx context.Context, req *secretapi.WriteRequest) (*protocol.Empty, error) {
	sealed, err := s.seal(ctx, req)
	if err != nil {
		return nil, err
	}
	return &protocol.Empty{}, s.names.Secrets.Alter(ctx, req.ID, sealed)
}
