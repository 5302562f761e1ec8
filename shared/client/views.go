package client

import (
	"context"

	"tiltyard/shared/protocol"
)

// CreateMaterializedView makes a table that holds the answer to a query. A job fills it.
func (c *Client) CreateMaterializedView(ctx context.Context, req *protocol.CreateMaterializedViewRequest) (*protocol.CreateMaterializedViewResponse, error) {
	return ask[protocol.CreateMaterializedViewResponse](ctx, c, "CreateMaterializedView", req)
}

// RefreshMaterializedView begins a job that brings the rows of a view up to date.
func (c *Client) RefreshMaterializedView(ctx context.Context, req *protocol.RefreshMaterializedViewRequest) (*protocol.RefreshMaterializedViewResponse, error) {
	return ask[protocol.RefreshMaterializedViewResponse](ctx, c, "RefreshMaterializedView", req)
}

// DescribeMaterializedView describes a materialized view.
func (c *Client) DescribeMaterializedView(ctx context.Context, req *protocol.MaterializedViewRequest) (*protocol.DescribeMaterializedViewResponse, error) {
	return ask[protocol.DescribeMaterializedViewResponse](ctx, c, "DescribeMaterializedView", req)
}

// DropMaterializedView removes a materialized view and its rows.
func (c *Client) DropMaterializedView(ctx context.Context, req *protocol.MaterializedViewRequest) (*protocol.DropMaterializedViewResponse, error) {
	return ask[protocol.DropMaterializedViewResponse](ctx, c, "DropMaterializedView", req)
}

// ListMaterializedViews returns one page of the materialized views in a namespace; see
// [Client.MaterializedViews].
func (c *Client) ListMaterializedViews(ctx context.Context, req *protocol.ListMaterializedViewsRequest) (*protocol.ListMaterializedViewsResponse, error) {
	return ask[protocol.ListMaterializedViewsResponse](ctx, c, "ListMaterializedViews", req)
}

// CreateView makes a view without rows of its own.
func (c *Client) CreateView(ctx context.Context, req *protocol.CreateViewRequest) (*protocol.DescribeViewResponse, error) {
	return ask[protocol.DescribeViewResponse](ctx, c, "CreateView", req)
}

// DescribeView describes such a view.
func (c *Client) DescribeView(ctx context.Context, req *protocol.ViewRequest) (*protocol.DescribeViewResponse, error) {
	return ask[protocol.DescribeViewResponse](ctx, c, "DescribeView", req)
}

// DropView removes such a view.
func (c *Client) DropView(ctx context.Context, req *protocol.ViewRequest) (*protocol.DropViewResponse, error) {
	return ask[protocol.DropViewResponse](ctx, c, "DropView", req)
}

// ListViews returns one page of such views in a namespace; see [Client.Views].
func (c *Client) ListViews(ctx context.Context, req *protocol.ListViewsRequest) (*protocol.ListViewsResponse, error) {
	return ask[protocol.ListViewsResponse](ctx, c, "ListViews", req)
}
