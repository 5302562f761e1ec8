package client

import (
	"context"

	"tiltyard/shared/protocol"
)

// CreateNamespace makes a namespace.
func (c *Client) CreateNamespace(ctx context.Context, req *protocol.CreateNamespaceRequest) (*protocol.CreateNamespaceResponse, error) {
	return ask[protocol.CreateNamespaceResponse](ctx, c, "CreateNamespace", req)
}

// ListNamespaces returns one page of the namespaces in a namespace; see [Client.Namespaces].
func (c *Client) ListNamespaces(ctx context.Context, req *protocol.ListNamespacesRequest) (*protocol.ListNamespacesResponse, error) {
	return ask[protocol.ListNamespacesResponse](ctx, c, "ListNamespaces", req)
}

// DescribeNamespace returns the properties of a namespace.
func (c *Client) DescribeNamespace(ctx context.Context, req *protocol.DescribeNamespaceRequest) (*protocol.DescribeNamespaceResponse, error) {
	return ask[protocol.DescribeNamespaceResponse](ctx, c, "DescribeNamespace", req)
}

// DropNamespace removes a namespace. The response is nil if there was none and the mode is Skip. One with a
// transaction id means that a job goes on to drop what is in the namespace; [Client.Wait] takes the id.
func (c *Client) DropNamespace(ctx context.Context, req *protocol.DropNamespaceRequest) (*protocol.DropNamespaceResponse, error) {
	return ask[protocol.DropNamespaceResponse](ctx, c, "DropNamespace", req)
}

// NamespaceExists returns NamespaceNotFound if there is no such namespace.
func (c *Client) NamespaceExists(ctx context.Context, req *protocol.NamespaceExistsRequest) error {
	_, err := ask[protocol.Empty](ctx, c, "NamespaceExists", req)
	return err
}

// ListDropped returns one page of what was dropped in a namespace and can be restored; see [Client.Dropped].
// Only Tiltyard has this operation.
func (c *Client) ListDropped(ctx context.Context, req *protocol.ListDroppedRequest) (*protocol.ListDroppedResponse, error) {
	return ask[protocol.ListDroppedResponse](ctx, c, "ListDropped", req)
}

// ExplainAccess explains what a subject may do with an object: the caller, or for an administrator anybody. Only
// Tiltyard has this operation.
func (c *Client) ExplainAccess(ctx context.Context, req *protocol.ExplainAccessRequest) (*protocol.ExplainAccessResponse, error) {
	return ask[protocol.ExplainAccessResponse](ctx, c, "ExplainAccess", req)
}

// UndropNamespace restores a dropped namespace with all that was dropped with it. Only Tiltyard has this
// operation.
func (c *Client) UndropNamespace(ctx context.Context, req *protocol.UndropNamespaceRequest) (*protocol.UndropNamespaceResponse, error) {
	return ask[protocol.UndropNamespaceResponse](ctx, c, "UndropNamespace", req)
}
