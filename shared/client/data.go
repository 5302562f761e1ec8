package client

import (
	"context"

	"tiltyard/shared/protocol"
)

// CreateTable makes a table of rows, which may be none.
func (c *Client) CreateTable(ctx context.Context, req *protocol.CreateTableRequest, rows Source) (*protocol.CreateTableResponse, error) {
	return upload[protocol.CreateTableResponse](ctx, c, "CreateTable", req, rows)
}

// InsertIntoTable adds rows. Columns are matched by name.
func (c *Client) InsertIntoTable(ctx context.Context, req *protocol.InsertIntoTableRequest, rows Source) (*protocol.InsertIntoTableResponse, error) {
	return upload[protocol.InsertIntoTableResponse](ctx, c, "InsertIntoTable", req, rows)
}

// MergeInsertIntoTable merges rows into a table by the columns of On.
func (c *Client) MergeInsertIntoTable(ctx context.Context, req *protocol.MergeInsertIntoTableRequest, rows Source) (*protocol.MergeInsertIntoTableResponse, error) {
	return upload[protocol.MergeInsertIntoTableResponse](ctx, c, "MergeInsertIntoTable", req, rows)
}
