package client

import (
	"context"

	"tiltyard/shared/protocol"
)

// DescribeTransaction returns the state of a transaction.
func (c *Client) DescribeTransaction(ctx context.Context, req *protocol.DescribeTransactionRequest) (*protocol.TransactionResponse, error) {
	return ask[protocol.TransactionResponse](ctx, c, "DescribeTransaction", req)
}

// AlterTransaction changes the status and the properties of a transaction.
func (c *Client) AlterTransaction(ctx context.Context, req *protocol.AlterTransactionRequest) (*protocol.TransactionResponse, error) {
	return ask[protocol.TransactionResponse](ctx, c, "AlterTransaction", req)
}

// ListJobs returns one page of the jobs, the newest first; see [Client.Jobs].
func (c *Client) ListJobs(ctx context.Context, req *protocol.ListJobsRequest) (*protocol.ListJobsResponse, error) {
	return ask[protocol.ListJobsResponse](ctx, c, "ListJobs", req)
}

// DescribeJob returns the state of a job; see [Client.Wait].
func (c *Client) DescribeJob(ctx context.Context, req *protocol.JobRequest) (*protocol.DescribeJobResponse, error) {
	return ask[protocol.DescribeJobResponse](ctx, c, "DescribeJob", req)
}

// ListEvents returns one page of the events of changes, the oldest first. Its cursor is to be sent back, also
// when there are no more events yet.
func (c *Client) ListEvents(ctx context.Context, req *protocol.ListEventsRequest) (*protocol.ListEventsResponse, error) {
	return ask[protocol.ListEventsResponse](ctx, c, "ListEvents", req)
}

// QueryJobEvents returns the events of a job and of its parts, the oldest first.
func (c *Client) QueryJobEvents(ctx context.Context, req *protocol.QueryJobEventsRequest) (*Rows, error) {
	return askRows(ctx, c, "QueryJobEvents", req)
}

// CancelJob ends a job. What it has committed stays.
func (c *Client) CancelJob(ctx context.Context, req *protocol.JobRequest) error {
	_, err := ask[protocol.Empty](ctx, c, "CancelJob", req)
	return err
}

// PauseJob stops a job until it is resumed.
func (c *Client) PauseJob(ctx context.Context, req *protocol.JobRequest) (*protocol.PauseJobResponse, error) {
	return ask[protocol.PauseJobResponse](ctx, c, "PauseJob", req)
}

// ResumeJob lets a job go on that was paused or set aside.
func (c *Client) ResumeJob(ctx context.Context, req *protocol.JobRequest) (*protocol.ResumeJobResponse, error) {
	return ask[protocol.ResumeJobResponse](ctx, c, "ResumeJob", req)
}
