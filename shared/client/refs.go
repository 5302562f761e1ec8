package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"tiltyard/shared/protocol/refapi"
)

// CherryPickTableBranch adds the columns of a branch to its table. If it cannot, the status of the
// response is CherryPickFailed, and Diff.Errors has the reasons; that is no error.
func (c *Client) CherryPickTableBranch(ctx context.Context, req *refapi.CherryPickRequest) (*refapi.CherryPickResponse, error) {
	resp, err := ask[refapi.CherryPickResponse](ctx, c, "CherryPickTableBranch", req)
	var refusal *Error
	if !errors.As(err, &refusal) || refusal.Status != http.StatusConflict {
		return resp, err
	}
	resp = new(refapi.CherryPickResponse)
	if json.Unmarshal(refusal.body, resp) != nil || resp.Status != refapi.CherryPickFailed {
		return nil, err
	}
	return resp, nil
}
