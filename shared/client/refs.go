package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"tiltyard/shared/protocol"
)

// ListTableTags returns one page of the tags of a table; see [Client.Tags].
func (c *Client) ListTableTags(ctx context.Context, req *protocol.ListTableTagsRequest) (*protocol.ListTableTagsResponse, error) {
	return ask[protocol.ListTableTagsResponse](ctx, c, "ListTableTags", req)
}

// GetTableTagVersion returns the version that a tag names.
func (c *Client) GetTableTagVersion(ctx context.Context, req *protocol.GetTableTagVersionRequest) (*protocol.GetTableTagVersionResponse, error) {
	return ask[protocol.GetTableTagVersionResponse](ctx, c, "GetTableTagVersion", req)
}

// CreateTableTag makes a tag.
func (c *Client) CreateTableTag(ctx context.Context, req *protocol.SetTableTagRequest) (*protocol.SetTableTagResponse, error) {
	return ask[protocol.SetTableTagResponse](ctx, c, "CreateTableTag", req)
}

// UpdateTableTag lets a tag name another version.
func (c *Client) UpdateTableTag(ctx context.Context, req *protocol.SetTableTagRequest) (*protocol.SetTableTagResponse, error) {
	return ask[protocol.SetTableTagResponse](ctx, c, "UpdateTableTag", req)
}

// DeleteTableTag removes a tag.
func (c *Client) DeleteTableTag(ctx context.Context, req *protocol.DeleteTableTagRequest) (*protocol.SetTableTagResponse, error) {
	return ask[protocol.SetTableTagResponse](ctx, c, "DeleteTableTag", req)
}

// ListTableBranches returns one page of the branches of a table; see [Client.Branches].
func (c *Client) ListTableBranches(ctx context.Context, req *protocol.ListTableBranchesRequest) (*protocol.ListTableBranchesResponse, error) {
	return ask[protocol.ListTableBranchesResponse](ctx, c, "ListTableBranches", req)
}

// CreateTableBranch makes a branch of a version.
func (c *Client) CreateTableBranch(ctx context.Context, req *protocol.CreateTableBranchRequest) (*protocol.CreateTableBranchResponse, error) {
	return ask[protocol.CreateTableBranchResponse](ctx, c, "CreateTableBranch", req)
}

// DeleteTableBranch removes a branch and its versions.
func (c *Client) DeleteTableBranch(ctx context.Context, req *protocol.DeleteTableBranchRequest) (*protocol.DeleteTableBranchResponse, error) {
	return ask[protocol.DeleteTableBranchResponse](ctx, c, "DeleteTableBranch", req)
}

// DiffTableBranches returns what a branch and its table have changed since the branch was made.
func (c *Client) DiffTableBranches(ctx context.Context, req *protocol.DiffTableBranchesRequest) (*protocol.BranchDiff, error) {
	return ask[protocol.BranchDiff](ctx, c, "DiffTableBranches", req)
}

// CherryPickTableBranch adds the columns of a branch to its table. If it cannot, the status of the
// response is CherryPickFailed, and Diff.Errors has the reasons; that is no error.
func (c *Client) CherryPickTableBranch(ctx context.Context, req *protocol.CherryPickTableBranchRequest) (*protocol.CherryPickTableBranchResponse, error) {
	resp, err := ask[protocol.CherryPickTableBranchResponse](ctx, c, "CherryPickTableBranch", req)
	var refusal *Error
	if !errors.As(err, &refusal) || refusal.Status != http.StatusConflict {
		return resp, err
	}
	resp = new(protocol.CherryPickTableBranchResponse)
	if json.Unmarshal(refusal.body, resp) != nil || resp.Status != protocol.CherryPickFailed {
		return nil, err
	}
	return resp, nil
}
