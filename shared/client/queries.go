package client

import (
	"context"

	"tiltyard/shared/protocol"
)

// QueryTable returns the rows that a query finds.
func (c *Client) QueryTable(ctx context.Context, req *protocol.QueryTableRequest) (*Rows, error) {
	return askRows(ctx, c, "QueryTable", req)
}

// CountTableRows counts the rows that match. The response has no version: the answer is a bare number.
func (c *Client) CountTableRows(ctx context.Context, req *protocol.CountTableRowsRequest) (*protocol.CountTableRowsResponse, error) {
	return ask[protocol.CountTableRowsResponse](ctx, c, "CountTableRows", req)
}

// ExplainTableQueryPlan returns how a query would be run.
func (c *Client) ExplainTableQueryPlan(ctx context.Context, req *protocol.ExplainTableQueryPlanRequest) (*protocol.QueryPlan, error) {
	return ask[protocol.QueryPlan](ctx, c, "ExplainTableQueryPlan", req)
}

// AnalyzeTableQueryPlan runs a query, and returns how that went.
func (c *Client) AnalyzeTableQueryPlan(ctx context.Context, req *protocol.AnalyzeTableQueryPlanRequest) (*protocol.QueryPlan, error) {
	return ask[protocol.QueryPlan](ctx, c, "AnalyzeTableQueryPlan", req)
}

// PrewarmTable brings columns into the cache of the server.
func (c *Client) PrewarmTable(ctx context.Context, req *protocol.PrewarmTableRequest) (*protocol.PrewarmTableResponse, error) {
	return ask[protocol.PrewarmTableResponse](ctx, c, "PrewarmTable", req)
}

// FetchTableBlobs returns whole values of a blob column.
func (c *Client) FetchTableBlobs(ctx context.Context, req *protocol.FetchTableBlobsRequest) (*Rows, error) {
	return askRows(ctx, c, "FetchTableBlobs", req)
}
