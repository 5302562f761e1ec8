// Package jobtable maintains a table of jobs, for clients that read job states from a table instead of calling the
// operations on jobs. Such a client creates the table __system$geneva_jobs itself; without it this package does nothing.
// The service adds a row for each job that fills a column or refreshes a view, before it answers the request, and updates
// columns of the row while the job runs:
//
//	job_id                    the id of the job
//	status                    PENDING, RUNNING, DONE, FAILED or CANCELLED
//	metrics                   a list of JSON objects with name, n, total, done and desc
//	updated_at, completed_at  times
//
// The service skips missing columns and columns of another type. All other columns belong to the client. If the schema
// requires values in them, a new row has these until the client sets its own:
//
//	table_name, column_name   the name of the table or view, and of the column that is filled or ""
//	job_type                  BACKFILL or REFRESH
//	launched_at, other times  when the job began
//	config                    {}
//	others                    "", 0, false, or the empty value of their type
//
// The record of a job is authoritative: a poll reads it and writes the row. Polls follow each other until the job has
// ended, and one more comes some time after its end, because the client may add a row of its own for a job that it did not
// find.
package jobtable

import (
	"context"
	"time"

	"tiltyard/shared/engine"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol"
	"tiltyard/shared/tables"
)

// Kind is the kind of the polls that write the table.
const Kind = "job_table"

const (
	jobID  = "job_id"
	status = "status"
)

// id returns the id of the table.
func id() []string { return []string{"__system", "geneva_jobs"} }

// A Mark is embedded in the input of a job. It records whether the job has a row in the table.
type Mark struct {
	Listed bool `json:"in_job_table,omitempty"`
}

// Exists reports whether there is a table of jobs.
func Exists(ctx context.Context, on tables.Tables) (Mark, error) {
	_, err := on.Names.Table(ctx, id())
	if isMissing(err) {
		return Mark{}, nil
	}
	return Mark{Listed: err == nil}, err
}

func isMissing(err error) bool {
	return protocol.HasCode(err, protocol.TableNotFound) || protocol.HasCode(err, protocol.NamespaceNotFound)
}

// Announce adds the row of a job that has begun, and schedules a poll. It ignores failures, because
// the poll adds a missing row.
func (m Mark) Announce(ctx context.Context, on tables.Tables, job *transaction.Transaction) {
	if !m.Listed {
		return
	}
	if found, err := on.Names.Table(ctx, id()); err == nil {
		table := on.At(found)
		if columns, err := columnsOf(ctx, table); err == nil {
			_, _ = table.Insert(ctx, row(columns, job))
		}
	}
	_ = on.Jobs.Suggest(ctx, Kind, []string{job.ID}, 0)
}

// Follow returns the kind with stages that schedule polls while they run, so that the table becomes
// correct even if earlier messages were lost.
func Follow(on tables.Tables, kind jobs.Kind) jobs.Kind {
	stages := make([]jobs.Stage, len(kind.Stages))
	for i, stage := range kind.Stages {
		do := stage.Do
		stage.Do = func(ctx context.Context, r *jobs.Run) (any, error) {
			var mark Mark
			if err := r.Input(&mark); err != nil || !mark.Listed {
				return do(ctx, r)
			}
			_ = on.Jobs.Suggest(ctx, Kind, []string{r.ID()}, 0)
			defer func() { _ = on.Jobs.Suggest(context.WithoutCancel(ctx), Kind, []string{r.ID()}, time.Second) }()
			return do(ctx, r)
		}
		stages[i] = stage
	}
	kind.Stages = stages
	return kind
}

// Keep returns the kind of polls that write the table. It has no jobs.
func Keep(on tables.Tables) jobs.Kind {
	kind := jobs.Single("keep", func(context.Context, *jobs.Run) (any, error) { return struct{}{}, nil })
	kind.Poll = func(ctx context.Context, object []string) (*jobs.Trigger, error) {
		return nil, keeper{on}.poll(ctx, object[0])
	}
	return kind
}

// The intervals between two polls of a running job: a fraction of its age, within bounds. The last
// poll comes after the client has had time to add its own row.
const (
	soonest  = 2 * time.Second
	latest   = 30 * time.Second
	fraction = 4
	lastLook = 10 * time.Second
)

type keeper struct{ on tables.Tables }

// poll writes the row of a job, and schedules the next poll.
func (k keeper) poll(ctx context.Context, job string) error {
	t, err := k.on.Transactions.Job(ctx, transaction.Unit{Job: job})
	if err != nil {
		return unlessGone(err)
	}
	_, err = k.on.Open(id(), "").Commit(ctx, func(table tables.Table) (engine.Written, error) {
		return write(ctx, table.Table, t, k.on.Now())
	})
	if err != nil {
		return unlessGone(err)
	}
	now := k.on.Now()
	switch {
	// The interval grows with the age of the job, within bounds.
	case !t.Status.Ended():
		return k.on.Jobs.Suggest(ctx, Kind, []string{job}, min(max(now.Sub(t.Created)/fraction, soonest), latest))
	// The client may still add its own row.
	case now.Sub(t.Updated) < lastLook:
		return k.on.Jobs.Suggest(ctx, Kind, []string{job}, lastLook)
	}
	return nil
}

// unlessGone returns an error, or nil if the table or the job no longer exists.
func unlessGone(err error) error {
	if isMissing(err) || protocol.HasCode(err, protocol.TransactionNotFound) {
		return nil
	}
	return err
}
