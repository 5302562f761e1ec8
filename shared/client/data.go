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

// UpdateTable sets columns to SQL expressions in the rows that match.
func (c *Client) UpdateTable(ctx context.Context, req *protocol.UpdateTableRequest) (*protocol.UpdateTableResponse, error) {
	return ask[protocol.UpdateTableResponse](ctx, c, "UpdateTable", req)
}

// DeleteFromTable deletes the rows that match.
func (c *Client) DeleteFromTable(ctx context.Context, req *protocol.DeleteFromTableRequest) (*protocol.DeleteFromTableResponse, error) {
	return ask[protocol.DeleteFromTableResponse](ctx, c, "DeleteFromTable", req)
}

// CreateMultipartWrite begins a write whose rows come as several inserts, with its UploadID and different
// UploadPartIDs, and become one version.
func (c *Client) CreateMultipartWrite(ctx context.Context, req *protocol.CreateMultipartWriteRequest) (*protocol.CreateMultipartWriteResponse, error) {
	return ask[protocol.CreateMultipartWriteResponse](ctx, c, "CreateMultipartWrite", req)
}

// CompleteMultipartWrite makes the rows of all parts a version.
func (c *Client) CompleteMultipartWrite(ctx context.Context, req *protocol.EndMultipartWriteRequest) (*protocol.CompleteMultipartWriteResponse, error) {
	return ask[protocol.CompleteMultipartWriteResponse](ctx, c, "CompleteMultipartWrite", req)
}

// AbortMultipartWrite forgets the rows of all parts.
func (c *Client) AbortMultipartWrite(ctx context.Context, req *protocol.EndMultipartWriteRequest) (*protocol.AbortMultipartWriteResponse, error) {
	return ask[protocol.AbortMultipartWriteResponse](ctx, c, "AbortMultipartWrite", req)
}
