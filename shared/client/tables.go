package client

import (
	"context"

	"tiltyard/shared/protocol"
)

// ListTables returns one page of the tables in a namespace; see [Client.Tables].
func (c *Client) ListTables(ctx context.Context, req *protocol.ListTablesRequest) (*protocol.ListTablesResponse, error) {
	return ask[protocol.ListTablesResponse](ctx, c, "ListTables", req)
}

// ListAllTables returns one page of the tables in all namespaces; see [Client.AllTables].
func (c *Client) ListAllTables(ctx context.Context, req *protocol.ListAllTablesRequest) (*protocol.ListTablesResponse, error) {
	return ask[protocol.ListTablesResponse](ctx, c, "ListAllTables", req)
}

// RegisterTable gives a name to a table that exists on storage.
func (c *Client) RegisterTable(ctx context.Context, req *protocol.RegisterTableRequest) (*protocol.RegisterTableResponse, error) {
	return ask[protocol.RegisterTableResponse](ctx, c, "RegisterTable", req)
}

// DescribeTable describes a table. The version and the schema come only if LoadDetailedMetadata is set.
func (c *Client) DescribeTable(ctx context.Context, req *protocol.DescribeTableRequest) (*protocol.DescribeTableResponse, error) {
	return ask[protocol.DescribeTableResponse](ctx, c, "DescribeTable", req)
}

// TableExists returns TableNotFound if there is no such table.
func (c *Client) TableExists(ctx context.Context, req *protocol.TableExistsRequest) error {
	_, err := ask[protocol.Empty](ctx, c, "TableExists", req)
	return err
}

// DropTable removes a table and its data. If the answer has a DropID, [Client.UndropTable] can restore it.
func (c *Client) DropTable(ctx context.Context, req *protocol.DropTableRequest) (*protocol.DropTableResponse, error) {
	return ask[protocol.DropTableResponse](ctx, c, "DropTable", req)
}

// DeregisterTable forgets the name of a table and keeps its data.
func (c *Client) DeregisterTable(ctx context.Context, req *protocol.DeregisterTableRequest) (*protocol.DeregisterTableResponse, error) {
	return ask[protocol.DeregisterTableResponse](ctx, c, "DeregisterTable", req)
}

// DeclareTable reserves a name and a location for a table that is to be written.
func (c *Client) DeclareTable(ctx context.Context, req *protocol.DeclareTableRequest) (*protocol.DeclareTableResponse, error) {
	return ask[protocol.DeclareTableResponse](ctx, c, "DeclareTable", req)
}

// RenameTable gives a table another name, and perhaps another namespace.
func (c *Client) RenameTable(ctx context.Context, req *protocol.RenameTableRequest) (*protocol.RenameTableResponse, error) {
	return ask[protocol.RenameTableResponse](ctx, c, "RenameTable", req)
}

// CloneTable makes a table that begins as a version of another one.
func (c *Client) CloneTable(ctx context.Context, req *protocol.CloneTableRequest) (*protocol.CloneTableResponse, error) {
	return ask[protocol.CloneTableResponse](ctx, c, "CloneTable", req)
}

// FindTables returns one page of the tables that meet conditions; see [Client.Found]. Only Tiltyard has this
// operation.
func (c *Client) FindTables(ctx context.Context, req *protocol.FindTablesRequest) (*protocol.FindTablesResponse, error) {
	return ask[protocol.FindTablesResponse](ctx, c, "FindTables", req)
}

// UndropTable restores a dropped table or view. Only Tiltyard has this operation.
func (c *Client) UndropTable(ctx context.Context, req *protocol.UndropTableRequest) (*protocol.UndropTableResponse, error) {
	return ask[protocol.UndropTableResponse](ctx, c, "UndropTable", req)
}

// PurgeTable deletes the files of a dropped table before its time. Only Tiltyard has this operation.
func (c *Client) PurgeTable(ctx context.Context, req *protocol.PurgeTableRequest) (*protocol.PurgeTableResponse, error) {
	return ask[protocol.PurgeTableResponse](ctx, c, "PurgeTable", req)
}

// GetTableStorage returns how much of the data files each column takes. Only Tiltyard has this operation.
func (c *Client) GetTableStorage(ctx context.Context, req *protocol.GetTableStorageRequest) (*protocol.GetTableStorageResponse, error) {
	return ask[protocol.GetTableStorageResponse](ctx, c, "GetTableStorage", req)
}

// GetTableStats returns the sizes of a table.
func (c *Client) GetTableStats(ctx context.Context, req *protocol.GetTableStatsRequest) (*protocol.GetTableStatsResponse, error) {
	return ask[protocol.GetTableStatsResponse](ctx, c, "GetTableStats", req)
}

// MaintainTable begins a job that keeps a table fit. Only Tiltyard has this operation.
func (c *Client) MaintainTable(ctx context.Context, req *protocol.MaintainTableRequest) (*protocol.MaintainTableResponse, error) {
	return ask[protocol.MaintainTableResponse](ctx, c, "MaintainTable", req)
}
