package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"tiltyard/shared/protocol/refapi"
)

// CherryPickTableBranch adds the columns of a branch to its table. If the server cannot do that,
// the error is nil, the status of the response is CherryPickFailed, and Diff.Errors contains the
// reasons.
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
