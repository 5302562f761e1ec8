package client

import (
	"context"

	"tiltyard/shared/protocol/dataapi"
)

// CreateTable creates a table from rows. There may be none.
func (c *Client) CreateTable(ctx context.Context, req *dataapi.CreateTableRequest, rows Source) (*dataapi.CreateTableResponse, error) {
	return upload[dataapi.CreateTableResponse](ctx, c, "CreateTable", req, rows)
}

// InsertIntoTable appends rows. Columns are matched by name.
func (c *Client) InsertIntoTable(ctx context.Context, req *dataapi.InsertRequest, rows Source) (*dataapi.InsertResponse, error) {
	return upload[dataapi.InsertResponse](ctx, c, "InsertIntoTable", req, rows)
}

// MergeInsertIntoTable merges rows into a table by the key columns On.
func (c *Client) MergeInsertIntoTable(ctx context.Context, req *dataapi.MergeInsertRequest, rows Source) (*dataapi.MergeInsertResponse, error) {
	return upload[dataapi.MergeInsertResponse](ctx, c, "MergeInsertIntoTable", req, rows)
}
