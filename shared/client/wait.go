package client

import (
	"context"
	"fmt"
	"time"

	"tiltyard/shared/protocol/jobapi"
)

// A JobError is the error for a job that failed or was cancelled.
type JobError struct{ Job *jobapi.DescribeResponse }

// Error returns the final state of the job and the reason for it.
func (e *JobError) Error() string {
	text := fmt.Sprintf("job %s (%s) is %s", e.Job.JobID, e.Job.JobType, e.Job.JobState)
	if f := e.Job.Failure; f != nil {
		text += fmt.Sprintf(" in stage %q: %s", f.Phase, f.Message)
		if f.Retryable {
			text += "; it goes on when it is resumed"
		}
	}
	return text
}

// The bounds of the pauses between two requests for the state of a job.
const (
	firstLook   = 50 * time.Millisecond
	longestLook = 2 * time.Second
)

// Wait waits until a job has ended. The error is a *[JobError] if the job failed or was cancelled.
// progress, which may be nil, is called with the state of the job after each request. The end of
// the context does not stop the job. A paused job has not ended, so Wait continues.
func (c *Client) Wait(ctx context.Context, jobID string, progress func(*jobapi.DescribeResponse)) (*jobapi.DescribeResponse, error) {
	// Short jobs are noticed early, and long ones cost few requests.
	for wait := firstLook; ; wait = min(wait*3/2, longestLook) {
		job, err := c.DescribeJob(ctx, &jobapi.Request{JobID: jobID})
		if err != nil {
			return nil, err
		}
		if progress != nil {
			progress(job)
		}
		switch job.JobState {
		case jobapi.Done:
			return job, nil
		case jobapi.Failed, jobapi.Cancelled:
			return job, &JobError{job}
		}
		if !pause(ctx, wait) {
			return job, fmt.Errorf("wait for job %s: %w", jobID, context.Cause(ctx))
		}
	}
}
