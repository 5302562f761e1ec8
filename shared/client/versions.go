package client

import (
	"context"

	"tiltyard/shared/protocol"
)

// ListTableVersions returns one page of the versions of a table; see [Client.Versions].
func (c *Client) ListTableVersions(ctx context.Context, req *protocol.ListTableVersionsRequest) (*protocol.ListTableVersionsResponse, error) {
	return ask[protocol.ListTableVersionsResponse](ctx, c, "ListTableVersions", req)
}

// CreateTableVersion makes a manifest that the caller has written the next version of a table.
func (c *Client) CreateTableVersion(ctx context.Context, req *protocol.CreateTableVersionRequest) (*protocol.CreateTableVersionResponse, error) {
	return ask[protocol.CreateTableVersionResponse](ctx, c, "CreateTableVersion", req)
}

// DescribeTableVersion describes one version.
func (c *Client) DescribeTableVersion(ctx context.Context, req *protocol.DescribeTableVersionRequest) (*protocol.DescribeTableVersionResponse, error) {
	return ask[protocol.DescribeTableVersionResponse](ctx, c, "DescribeTableVersion", req)
}

// BatchDeleteTableVersions deletes versions of a table.
func (c *Client) BatchDeleteTableVersions(ctx context.Context, req *protocol.BatchDeleteTableVersionsRequest) (*protocol.BatchDeleteTableVersionsResponse, error) {
	return ask[protocol.BatchDeleteTableVersionsResponse](ctx, c, "BatchDeleteTableVersions", req)
}

// BatchCreateTableVersions makes versions of several tables, all of them or none.
func (c *Client) BatchCreateTableVersions(ctx context.Context, req *protocol.BatchCreateTableVersionsRequest) (*protocol.BatchCreateTableVersionsResponse, error) {
	return ask[protocol.BatchCreateTableVersionsResponse](ctx, c, "BatchCreateTableVersions", req)
}

// BatchCommitTables does operations on several tables, all of them or none.
func (c *Client) BatchCommitTables(ctx context.Context, req *protocol.BatchCommitTablesRequest) (*protocol.BatchCommitTablesResponse, error) {
	return ask[protocol.BatchCommitTablesResponse](ctx, c, "BatchCommitTables", req)
}

// CompareTableVersions tells which rows differ between two versions of a table. Only Tiltyard has this operation.
func (c *Client) CompareTableVersions(ctx context.Context, req *protocol.CompareTableVersionsRequest) (*protocol.CompareTableVersionsResponse, error) {
	return ask[protocol.CompareTableVersionsResponse](ctx, c, "CompareTableVersions", req)
}

// RestoreTable makes a new version that equals an old one.
func (c *Client) RestoreTable(ctx context.Context, req *protocol.RestoreTableRequest) (*protocol.RestoreTableResponse, error) {
	return ask[protocol.RestoreTableResponse](ctx, c, "RestoreTable", req)
}
