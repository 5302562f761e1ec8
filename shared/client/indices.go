package client

import (
	"context"

	"tiltyard/shared/protocol"
)

// CreateTableIndex begins a job that builds an index of any kind.
func (c *Client) CreateTableIndex(ctx context.Context, req *protocol.CreateTableIndexRequest) (*protocol.CreateTableIndexResponse, error) {
	return ask[protocol.CreateTableIndexResponse](ctx, c, "CreateTableIndex", req)
}

// CreateTableScalarIndex is CreateTableIndex for all kinds but those of vectors.
func (c *Client) CreateTableScalarIndex(ctx context.Context, req *protocol.CreateTableIndexRequest) (*protocol.CreateTableIndexResponse, error) {
	return ask[protocol.CreateTableIndexResponse](ctx, c, "CreateTableScalarIndex", req)
}

// ListTableIndices returns one page of the indices of a table; see [Client.Indices].
func (c *Client) ListTableIndices(ctx context.Context, req *protocol.ListTableIndicesRequest) (*protocol.ListTableIndicesResponse, error) {
	return ask[protocol.ListTableIndicesResponse](ctx, c, "ListTableIndices", req)
}

// DescribeTableIndexStats returns which rows an index covers.
func (c *Client) DescribeTableIndexStats(ctx context.Context, req *protocol.DescribeTableIndexStatsRequest) (*protocol.DescribeTableIndexStatsResponse, error) {
	return ask[protocol.DescribeTableIndexStatsResponse](ctx, c, "DescribeTableIndexStats", req)
}

// DropTableIndex removes an index.
func (c *Client) DropTableIndex(ctx context.Context, req *protocol.DropTableIndexRequest) (*protocol.DropTableIndexResponse, error) {
	return ask[protocol.DropTableIndexResponse](ctx, c, "DropTableIndex", req)
}

// PrewarmTableIndex brings an index into the cache of the server.
func (c *Client) PrewarmTableIndex(ctx context.Context, req *protocol.PrewarmTableIndexRequest) (*protocol.PrewarmTableIndexResponse, error) {
	return ask[protocol.PrewarmTableIndexResponse](ctx, c, "PrewarmTableIndex", req)
}
