package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"tiltyard/shared/protocol"
)

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
