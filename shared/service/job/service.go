// Package job implements the operations on jobs, which are transactions that workers run.
package job

import (
	"context"

	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/tables"
)

// A Service implements the operations on jobs.
type Service struct{ tables tables.Tables }

// New returns the service over tables.
func New(tables tables.Tables) *Service { return &Service{tables} }

// Routes returns the routes of the service.
func (s *Service) Routes() []httpapi.Route {
	return []httpapi.Route{
		httpapi.JSON("ListJobs", s.List),
		httpapi.JSON("DescribeJob", s.Describe),
		httpapi.ArrowStream("QueryJobEvents", s.QueryEvents),
		httpapi.JSON("CancelJob", s.Cancel),
		httpapi.JSON("PauseJob", s.Pause),
		httpapi.JSON("ResumeJob", s.Resume),
	}
}

// admit parses a job id and checks the caller's right to perform an operation on the job's object.
func (s *Service) admit(ctx context.Context, operation, id string) (transaction.Unit, error) {
	if !transaction.IsJobID(id) {
		return transaction.Unit{}, errNoJob
	}
	job := transaction.Unit{Job: id}
	if !auth.Limited(ctx) {
		return job, nil
	}
	ref := transaction.Ref{Unit: job}
	found, err := s.tables.Transactions.Get(ctx, ref)
	if err != nil {
		return job, err
	}
	return job, auth.Check(ctx, operation, transaction.ObjectOf(found.Kind, found.Object), transaction.NotFound(ref))
}

// errNoJob is the error for a malformed job id. It does not quote the id, which may contain
// anything.
var errNoJob = protocol.Errorf(protocol.TransactionNotFound, "job_id names no job: the id of a job is %d lower-case hexadecimal digits", 32)

// Revive resends the message of a job if it seems lost. It ignores errors, because the request only
// reads the state of the job.
func Revive(ctx context.Context, tables tables.Tables, job *transaction.Transaction) {
	if tables.Jobs != nil {
		_ = tables.Jobs.Revive(ctx, job, tables.Now())
	}
}
