package secret

import (
	"context"

	"tiltyard/shared/catalog/secretbox"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/secretapi"
)

// Create stores a secret. No request returns its value.
func (s *Service) Create(ctx context.Context, req *secretapi.WriteRequest) (*protocol.Empty, error) {
	sealed, err := s.seal(ctx, req)
	if err != nil {
		return nil, err
	}
	return &protocol.Empty{}, s.names.Secrets.Create(ctx, req.ID, sealed)
}

// seal encrypts the value of a request.
func (s *Service) seal(ctx context.Context, req *secretapi.WriteRequest) (secretbox.Sealed, error) {
	if s.keys == nil {
		return secretbox.Sealed{}, &protocol.Error{
			Code: protocol.Unsupported, Message: "this deployment keeps no secrets", Detail: "configure a file of keys, or a key of KMS (TILTYARD_SECRETS)",
		}
	}
	return s.keys.Seal(ctx, req.ID, []byte(req.Value))
}
