package client

import (
	"context"

	"tiltyard/shared/protocol"
)

// CreateFunction begins a job that makes a version of a function.
func (c *Client) CreateFunction(ctx context.Context, req *protocol.CreateFunctionRequest) (*protocol.CreateFunctionResponse, error) {
	return ask[protocol.CreateFunctionResponse](ctx, c, "CreateFunction", req)
}

// DescribeFunction describes a version of a function.
func (c *Client) DescribeFunction(ctx context.Context, req *protocol.FunctionRequest) (*protocol.FunctionVersion, error) {
	return ask[protocol.FunctionVersion](ctx, c, "DescribeFunction", req)
}

// DropFunction removes a version of a function.
func (c *Client) DropFunction(ctx context.Context, req *protocol.FunctionRequest) (*protocol.DropFunctionResponse, error) {
	return ask[protocol.DropFunctionResponse](ctx, c, "DropFunction", req)
}

// ListFunctions returns one page of the functions in a namespace; see [Client.Functions].
func (c *Client) ListFunctions(ctx context.Context, req *protocol.ListFunctionsRequest) (*protocol.ListFunctionsResponse, error) {
	return ask[protocol.ListFunctionsResponse](ctx, c, "ListFunctions", req)
}
