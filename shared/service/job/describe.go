package job

import (
	"context"
	"encoding/json"

	"tiltyard/shared/protocol/jobapi"
	"tiltyard/shared/protocol/transactionapi"
)

// Describe returns the state of a job.
func (s *Service) Describe(ctx context.Context, req *jobapi.Request) (*jobapi.DescribeResponse, error) {
	named, err := s.admit(ctx, "DescribeJob", req.JobID)
	if err != nil {
		return nil, err
	}
	job, err := s.tables.Transactions.Job(ctx, named)
	if err != nil {
		return nil, err
	}
	Revive(ctx, s.tables, job)
	if job, err = s.tables.Transactions.Follow(ctx, job); err != nil {
		return nil, err
	}
	answer := &jobapi.DescribeResponse{
		JobID: req.JobID, JobType: job.Kind, JobState: jobStates[job.Status],
		CreationMs: job.Created.UnixMilli(), Progress: progressOf(job), Result: job.Result,
	}
	if job.Work != nil {
		answer.Spec = job.Work.Input
	}
	if !isObject(answer.Spec) { // a job without input
		answer.Spec = json.RawMessage("{}")
	}
	if job.Status == transactionapi.Failed {
		answer.Failure = &jobapi.Failure{Phase: job.Kind, Message: job.Failure}
		if w := job.Work; w != nil {
			answer.Failure.Retryable = w.SetAside
			if w.Stage != "" {
				answer.Failure.Phase = w.Stage
			}
		}
	}
	return answer, nil
}

// isObject reports whether JSON is an object.
func isObject(text json.RawMessage) bool {
	return len(text) > 0 && text[0] == '{'
}
