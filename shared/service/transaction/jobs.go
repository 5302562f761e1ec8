package transaction

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"tiltyard/shared/auth"
	"tiltyard/shared/protocol"
	"tiltyard/shared/transaction"
)

var jobStates = map[protocol.TransactionStatus]protocol.JobState{
	protocol.TransactionQueued:    protocol.JobInProgress,
	protocol.TransactionRunning:   protocol.JobInProgress,
	protocol.TransactionSucceeded: protocol.JobDone,
	protocol.TransactionFailed:    protocol.JobFailed,
	protocol.TransactionCanceled:  protocol.JobCancelled,
}

// ListJobs returns jobs, newest first.
func (s *Service) ListJobs(ctx context.Context, req *protocol.ListJobsRequest) (*protocol.ListJobsResponse, error) {
	const pageSize = 100
	if req.PageToken != "" && !transaction.IsJobID(req.PageToken) {
		return nil, protocol.Errorf(protocol.InvalidInput, "page_token %.80q is not from this list; send back the page_token of the previous page", req.PageToken)
	}
	limit, bounded := req.Bound()
	answer := &protocol.ListJobsResponse{PageToken: req.PageToken}
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
			s.revive(ctx, job)
			if auth.Sees(ctx, objectOf(job)) {
				answer.Jobs = append(answer.Jobs, listed(job))
			}
		}
		if answer.PageToken = next; next == "" {
			return answer, nil
		}
	}
	if limit == 0 {
		answer.PageToken = ""
	}
	return answer, nil
}

func listed(job *transaction.Transaction) protocol.Job {
	return protocol.Job{
		JobID: job.ID, Table: strings.Join(job.Object, protocol.DefaultDelimiter), JobType: job.Kind,
		State: jobStates[job.Status], CreatedAtMillis: job.Created.UnixMilli(), Progress: progressOf(job),
	}
}

// progressOf returns how far a job is, nil until a worker has reported it.
func progressOf(job *transaction.Transaction) *protocol.JobProgress {
	if job.Work == nil || job.Work.Stage == "" {
		return nil
	}
	w := job.Work
	return &protocol.JobProgress{
		Stage: w.Stage, StagesDone: w.StagesDone, Stages: w.Stages, PartsDone: w.PartsDone, Parts: w.Parts,
		StepsDone: job.Done, Steps: job.Total, RowsDone: job.Rows,
	}
}

// revive queues a job again whose message seems lost. A failure is ignored, because the client only
// asked for the state of the job.
func (s *Service) revive(ctx context.Context, job *transaction.Transaction) {
	if s.tables.Jobs != nil {
		_ = s.tables.Jobs.Revive(ctx, job, s.keeper.Now())
	}
}

// DescribeJob returns the state of a job.
func (s *Service) DescribeJob(ctx context.Context, req *protocol.JobRequest) (*protocol.DescribeJobResponse, error) {
	named, err := s.admitJob(ctx, "DescribeJob", req.JobID)
	if err != nil {
		return nil, err
	}
	job, err := s.tables.Transactions.Job(ctx, named)
	if err != nil {
		return nil, err
	}
	s.revive(ctx, job)
	if job, err = s.tables.Transactions.Follow(ctx, job); err != nil {
		return nil, err
	}
	answer := &protocol.DescribeJobResponse{
		JobID: req.JobID, JobType: job.Kind, JobState: jobStates[job.Status],
		CreationMs: job.Created.UnixMilli(), Progress: progressOf(job), Result: job.Result,
	}
	if job.Work != nil {
		answer.Spec = job.Work.Input
	}
	if !isObject(answer.Spec) { // a job without input
		answer.Spec = json.RawMessage("{}")
	}
	if job.Status == protocol.TransactionFailed {
		answer.Failure = &protocol.JobFailure{Phase: job.Kind, Message: job.Failure}
		if w := job.Work; w != nil {
			answer.Failure.Retryable = w.Aside
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

// CancelJob ends a job; its worker notices that at the next checkpoint. A job that has already
// ended stays as it is.
func (s *Service) CancelJob(ctx context.Context, req *protocol.JobRequest) (*protocol.Empty, error) {
	job, err := s.admitJob(ctx, "CancelJob", req.JobID)
	if err != nil {
		return nil, err
	}
	_, err = s.tables.Transactions.Advance(ctx, job, func(t *transaction.Transaction) {
		t.Status = protocol.TransactionCanceled
	})
	if err != nil && !errors.Is(err, transaction.ErrEnded) {
		return nil, err
	}
	return &protocol.Empty{}, nil
}

// PauseJob stops the work on a job at its next checkpoint.
func (s *Service) PauseJob(ctx context.Context, req *protocol.JobRequest) (*protocol.PauseJobResponse, error) {
	job, err := s.admitJob(ctx, "PauseJob", req.JobID)
	if err != nil {
		return nil, err
	}
	before, err := s.tables.Transactions.Pause(ctx, job)
	if errors.Is(err, transaction.ErrEnded) {
		return &protocol.PauseJobResponse{Committing: true}, nil
	}
	if err != nil {
		return nil, err
	}
	return &protocol.PauseJobResponse{Paused: !before}, nil
}

// ResumeJob continues a job that was paused or set aside.
func (s *Service) ResumeJob(ctx context.Context, req *protocol.JobRequest) (*protocol.ResumeJobResponse, error) {
	job, err := s.admitJob(ctx, "ResumeJob", req.JobID)
	if err != nil {
		return nil, err
	}
	if s.tables.Jobs == nil {
		return nil, errNoJobs
	}
	paused, pausing, err := s.tables.Jobs.Resume(ctx, job, s.keeper.Now())
	if err != nil && !errors.Is(err, transaction.ErrEnded) {
		return nil, err
	}
	return &protocol.ResumeJobResponse{Resumed: paused && !pausing, StillPausing: pausing}, nil
}

// errNoJobs is the answer when no queue is configured.
var errNoJobs = &protocol.Error{
	Code: protocol.Unsupported, Message: "this deployment has no workers", Detail: "configure a queue of jobs (TILTYARD_JOBS)",
}

// errNoJob is the answer for what is not the id of a job. It does not quote the id, which may hold anything.
var errNoJob = protocol.Errorf(protocol.TransactionNotFound, "job_id names no job: the id of a job is %d lower-case hexadecimal digits", 32)
