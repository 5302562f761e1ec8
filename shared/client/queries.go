package client

import (
	"context"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/protocol/queryapi"
)

// QueryTable returns the rows that match a query.
func (c *Client) QueryTable(ctx context.Context, req *queryapi.Request) (*Rows, error) {
	return askRows(ctx, c, "QueryTable", complete(req))
}

// StoreQuery runs a query whose result the server writes to storage, for [Client.ReadTableResult].
// It serves results that exceed the response size of AWS Lambda.
func (c *Client) StoreQuery(ctx context.Context, req *queryapi.Request) (*queryapi.StoredResult, error) {
	call, err := c.newCall("QueryTable", complete(req))
	if err != nil {
		return nil, err
	}
	call.header.Set("Accept", arrowipc.ContentTypeStream+"; compression=zstd")
	call.header.Set(resultHeader, "link")
	return askCall[queryapi.StoredResult](ctx, call)
}

const resultHeader = "X-Tiltyard-Result"

// ReadTableResult returns the rows of a stored result. Only the caller of StoreQuery can read them.
func (c *Client) ReadTableResult(ctx context.Context, req *queryapi.ReadResultRequest) (*Rows, error) {
	call, err := c.newCall("ReadTableResult", req)
	if err != nil {
		return nil, err
	}
	call.follows = true
	return rowsOf(ctx, call)
}

// ExplainTableQueryPlan returns the plan of a query.
func (c *Client) ExplainTableQueryPlan(ctx context.Context, req *queryapi.ExplainPlanRequest) (*queryapi.Plan, error) {
	if req.Query == nil {
		return ask[queryapi.Plan](ctx, c, "ExplainTableQueryPlan", req)
	}
	return ask[queryapi.Plan](ctx, c, "ExplainTableQueryPlan", &completeExplain{*req, complete(req.Query)})
}

// AnalyzeTableQueryPlan runs a query and returns its plan with measurements.
func (c *Client) AnalyzeTableQueryPlan(ctx context.Context, req *queryapi.AnalyzePlanRequest) (*queryapi.Plan, error) {
	return ask[queryapi.Plan](ctx, c, "AnalyzeTableQueryPlan", complete(&req.Request))
}

// completeQuery is a query with the two fields that the public specification requires, even if they
// have no effect.
type completeQuery struct {
	queryapi.Request
	Vector any `json:"vector"` // replaces the field of the request
}

// complete returns a query with all required fields that has the same meaning as req.
func complete(req *queryapi.Request) *completeQuery {
	q := &completeQuery{Request: *req, Vector: struct{}{}}
	if !req.Vector.Empty() {
		q.Vector = req.Vector
	}
	switch {
	case req.K != nil:
	case req.Vector.Empty():
		q.K = new(int64(0)) // no limit
	default:
		q.K = new(int64(10))
	}
	return q
}

// completeExplain is a request to explain a completeQuery.
type completeExplain struct {
	queryapi.ExplainPlanRequest
	Query *completeQuery `json:"query"` // replaces the field of the request
}
