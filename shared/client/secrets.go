package client

import (
	"context"

	"tiltyard/shared/protocol"
)

// CreateSecret stores a value under a new name. It is not repeated after a lost answer.
func (c *Client) CreateSecret(ctx context.Context, req *protocol.WriteSecretRequest) error {
	_, err := ask[protocol.Empty](ctx, c, "CreateSecret", req)
	return err
}

// AlterSecret replaces the value of a secret.
func (c *Client) AlterSecret(ctx context.Context, req *protocol.WriteSecretRequest) error {
	_, err := ask[protocol.Empty](ctx, c, "AlterSecret", req)
	return err
}

// DescribeSecret returns all that can be read of a secret, which is not its value.
func (c *Client) DescribeSecret(ctx context.Context, req *protocol.SecretRequest) (*protocol.DescribeSecretResponse, error) {
	return ask[protocol.DescribeSecretResponse](ctx, c, "DescribeSecret", req)
}

// DropSecret removes a secret.
func (c *Client) DropSecret(ctx context.Context, req *protocol.SecretRequest) error {
	_, err := ask[protocol.Empty](ctx, c, "DropSecret", req)
	return err
}

// ListSecrets returns one page of the secrets in a namespace; see [Client.Secrets].
func (c *Client) ListSecrets(ctx context.Context, req *protocol.ListSecretsRequest) (*protocol.ListSecretsResponse, error) {
	return ask[protocol.ListSecretsResponse](ctx, c, "ListSecrets", req)
}
