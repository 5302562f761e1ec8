package job

import (
	"context"
	"strings"

	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/jobapi"
	"tiltyard/shared/protocol/transactionapi"
)

var jobStates = map[transactionapi.Status]jobapi.State{
	transactionapi.Queued:    jobapi.InProgress,
	transactionapi.Running:   jobapi.InProgress,
	transactionapi.Succeeded: jobapi.Done,
	transactionapi.Failed:    jobapi.Failed,
	transactionapi.Canceled:  jobapi.Cancelled,
}

// List returns jobs, newest first.
func (s *Service) List(ctx context.Context, req *jobapi.ListRequest) (*jobapi.ListResponse, error) {
	const pageSize = 100
	if req.PageToken != "" && !transaction.IsJobID(req.PageToken) {
		return nil, protocol.Errorf(protocol.InvalidInput, "page_token is not from this list; send back the page_token of the previous page")
	}
	limit, bounded := req.Bound()
	answer := &jobapi.ListResponse{PageToken: req.PageToken}
	for !bounded || int64(len(answer.Jobs)) < limit {
		size := int64(pageSize)
		if bounded {
			size = min(size, limit-int64(len(answer.Jobs)))
		}
		jobs, next, err := s.tables.Transactions.Jobs(ctx, answer.PageToken, int(size))
		if err != nil {
			return nil, err
		}
		for _, job := range jobs {
			Revive(ctx, s.tables, job)
			if auth.Sees(ctx, transaction.ObjectOf(job.Kind, job.Object)) {
				answer.Jobs = append(answer.Jobs, listed(job))
			}
		}
		if answer.PageToken = next; next == "" {
			return answer, nil
		}
	}
	// An empty page has no position from which to continue.
	if limit == 0 {
		answer.PageToken = ""
	}
	return answer, nil
}

func listed(job *transaction.Transaction) jobapi.Job {
	return jobapi.Job{
		JobID: job.ID, Table: strings.Join(job.Object, protocol.DefaultDelimiter), JobType: job.Kind,
		State: jobStates[job.Status], CreatedAtMillis: job.Created.UnixMilli(), Progress: progressOf(job),
	}
}

// progressOf returns the progress of a job, or nil until a worker has reported it.
func progressOf(job *transaction.Transaction) *jobapi.Progress {
	if job.Work == nil || job.Work.Stage == "" {
		return nil
	}
	w := job.Work
	return &jobapi.Progress{
		Stage: w.Stage, StagesDone: w.StagesDone, Stages: w.Stages, PartsDone: w.PartsDone, Parts: w.Parts,
		StepsDone: job.Done, Steps: job.Total, RowsDone: job.Rows,
	}
}
