package client

import (
	"context"

	"tiltyard/shared/protocol"
)

// AlterTableAddColumns adds columns.
func (c *Client) AlterTableAddColumns(ctx context.Context, req *protocol.AlterTableAddColumnsRequest) (*protocol.AlterTableAddColumnsResponse, error) {
	return ask[protocol.AlterTableAddColumnsResponse](ctx, c, "AlterTableAddColumns", req)
}

// AlterTableAlterColumns renames columns, and changes their types and whether they may be null.
func (c *Client) AlterTableAlterColumns(ctx context.Context, req *protocol.AlterTableAlterColumnsRequest) (*protocol.AlterTableAlterColumnsResponse, error) {
	return ask[protocol.AlterTableAlterColumnsResponse](ctx, c, "AlterTableAlterColumns", req)
}

// AlterTableDropColumns removes columns.
func (c *Client) AlterTableDropColumns(ctx context.Context, req *protocol.AlterTableDropColumnsRequest) (*protocol.AlterTableDropColumnsResponse, error) {
	return ask[protocol.AlterTableDropColumnsResponse](ctx, c, "AlterTableDropColumns", req)
}

// AlterTableBackfillColumns begins a job that fills a computed column.
func (c *Client) AlterTableBackfillColumns(ctx context.Context, req *protocol.AlterTableBackfillColumnsRequest) (*protocol.AlterTableBackfillColumnsResponse, error) {
	return ask[protocol.AlterTableBackfillColumnsResponse](ctx, c, "AlterTableBackfillColumns", req)
}

// UpdateFieldMetadata changes the metadata of columns.
func (c *Client) UpdateFieldMetadata(ctx context.Context, req *protocol.UpdateFieldMetadataRequest) (*protocol.UpdateFieldMetadataResponse, error) {
	return ask[protocol.UpdateFieldMetadataResponse](ctx, c, "UpdateFieldMetadata", req)
}

// UpdateTableSchemaMetadata sets keys of the metadata of the schema, and returns all of it.
func (c *Client) UpdateTableSchemaMetadata(ctx context.Context, req *protocol.UpdateTableSchemaMetadataRequest) (*protocol.Properties, error) {
	return ask[protocol.Properties](ctx, c, "UpdateTableSchemaMetadata", req)
}

// ListTableErrors returns the rows of a table that functions failed for, those of the newest job first.
func (c *Client) ListTableErrors(ctx context.Context, req *protocol.ListTableErrorsRequest) (*protocol.ListTableErrorsResponse, error) {
	return ask[protocol.ListTableErrorsResponse](ctx, c, "ListTableErrors", req)
}
