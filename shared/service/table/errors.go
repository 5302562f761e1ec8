package table

import (
	"context"
	"time"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/rowerror"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/tables"
)

// Errors implements the operation that lists the rows for which functions failed. A separate Lambda function serves it.
type Errors struct{ tables tables.Tables }

// NewErrors returns the service over tables.
func NewErrors(tables tables.Tables) *Errors { return &Errors{tables} }

// Routes returns the route of the operation.
func (s *Errors) Routes() []httpapi.Route {
	return []httpapi.Route{httpapi.JSON("ListTableErrors", s.List)}
}

// List returns the rows of a table for which functions failed. Error messages may quote values, so
// the caller must be permitted to read the table.
func (s *Errors) List(ctx context.Context, req *tableapi.ListErrorsRequest) (*tableapi.ListErrorsResponse, error) {
	answer := &tableapi.ListErrorsResponse{}
	query := rowerror.Query{Job: req.JobID, Column: req.Column, Since: time.Now().Add(-rowerror.Retention), Limit: req.Most()}
	found, err := tables.Rows(ctx, s.tables.Open(req.ID, protocol.BranchName(req.Branch)), func(ctx context.Context, t *engine.Table) (rowerror.Listing, error) {
		if reads, _ := auth.DataAccess(ctx, req.ID); !reads {
			return rowerror.Listing{}, auth.Denied("QueryTable", auth.Table(req.ID))
		}
		if req.JobID != "" && !transaction.IsJobID(req.JobID) {
			return rowerror.Listing{}, nil
		}
		return rowerror.Of(t.Data()).List(ctx, query)
	})
	if err != nil {
		return nil, err
	}
	answer.Truncated = found.Truncated
	for _, u := range found.Units {
		// List the fragments for which not all failures were recorded.
		if u.Skipped > int64(u.Recorded) {
			answer.Fragments = append(answer.Fragments, tableapi.ErrorFragment{
				JobID: u.Job, FragmentID: u.Fragment, RowsSkipped: u.Skipped, RowsRecorded: u.Recorded,
			})
		}
		for _, r := range u.Rows {
			answer.Records = append(answer.Records, tableapi.RowError{
				JobID: u.Job, FragmentID: u.Fragment, RowOffset: r.Offset, Column: u.Column, Function: u.Function, FunctionVersion: u.FunctionVersion,
				TableVersion: u.TableVersion, ErrorType: r.Type, ErrorMessage: r.Message, CreatedAtMillis: u.At.UnixMilli(),
			})
		}
	}
	return answer, nil
}
