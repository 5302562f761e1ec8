package view

import (
	"context"

	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/protocol"
	"tiltyard/shared/sealing"
)

// CreateSecret gives a name to a value, which no request returns.
func (s *Service) CreateSecret(ctx context.Context, req *protocol.WriteSecretRequest) (*protocol.Empty, error) {
	sealed, err := s.seal(ctx, req)
	if err != nil {
		return nil, err
	}
	return &protocol.Empty{}, s.tables.Names.Secrets.Create(ctx, req.ID, sealed)
}

// AlterSecret replaces the value of a secret.
func (s *Service) AlterSecret(ctx context.Context, req *protocol.WriteSecretRequest) (*protocol.Empty, error) {
	sealed, err := s.seal(ctx, req)
	if err != nil {
		return nil, err
	}
	return &protocol.Empty{}, s.tables.Names.Secrets.Alter(ctx, req.ID, sealed)
}

func (s *Service) seal(ctx context.Context, req *protocol.WriteSecretRequest) (sealing.Sealed, error) {
	if s.keys == nil {
		return sealing.Sealed{}, &protocol.Error{
			Code: protocol.Unsupported, Message: "this deployment keeps no secrets", Detail: "configure a file of keys, or a key of KMS (TILTYARD_SECRETS)",
		}
	}
	return s.keys.Seal(ctx, req.ID, []byte(req.Value))
}

// DescribeSecret returns when a secret was created, and when its value was last replaced.
func (s *Service) DescribeSecret(ctx context.Context, req *protocol.SecretRequest) (*protocol.DescribeSecretResponse, error) {
	record, err := s.tables.Names.Secrets.Get(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	return &protocol.DescribeSecretResponse{
		Name: record.ID[len(record.ID)-1], CreatedAt: record.Created.UnixMilli(), UpdatedAt: record.Updated.UnixMilli(),
	}, nil
}

// DropSecret removes a secret.
func (s *Service) DropSecret(ctx context.Context, req *protocol.SecretRequest) (*protocol.Empty, error) {
	return &protocol.Empty{}, s.tables.Names.Secrets.Drop(ctx, req.ID)
}

// ListSecrets returns the names of the secrets in a namespace.
func (s *Service) ListSecrets(ctx context.Context, req *protocol.ListSecretsRequest) (*protocol.ListSecretsResponse, error) {
	limit := lists.NoLimit
	if most, bounded := req.Bound(); bounded {
		limit = int(min(most, 1<<31-1))
	}
	names, next, err := s.tables.Names.Lists.Names(ctx, lists.Secrets, req.ID, req.PageToken, limit)
	if err != nil {
		return nil, err
	}
	answer := &protocol.ListSecretsResponse{PageToken: next}
	for _, name := range names {
		answer.Secrets = append(answer.Secrets, protocol.ListedSecret{Name: name})
	}
	return answer, nil
}
