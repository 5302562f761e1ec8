package secret

import (
	"context"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/secretapi"
)

// Drop removes a secret.
func (s *Service) Drop(ctx context.Context, req *secretapi.Request) (*protocol.Empty, error) {
	return &protocol.Empty{}, s.names.Secrets.Drop(ctx, req.ID)
}
