package secret

import (
	"context"

	"tiltyard/shared/protocol"
)

// Drop removes a secret.
func (s *Service) Drop(ctx context.Context, req *protocol.SecretRequest) (*protocol.Empty, error) {
	return &protocol.Empty{}, s.names.Secrets.Drop(ctx, req.ID)
}
