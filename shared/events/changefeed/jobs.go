package changefeed

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"tiltyard/shared/events/outbox"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/eventapi"
	"tiltyard/shared/protocol/jobapi"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/format"
)

// A jobMark records that the end of a job was announced.
type jobMark struct {
	Ended time.Time `json:"ended"`
}

// states maps the final states of transactions to those of jobs.
var states = map[transactionapi.Status]jobapi.State{
	transactionapi.Succeeded: jobapi.Done,
	transactionapi.Failed:    jobapi.Failed,
	transactionapi.Canceled:  jobapi.Cancelled,
}

// isOfObject reports whether a job works on a table, a namespace or a function. Scheduled jobs have no object.
func isOfObject(t *transaction.Transaction) bool { return len(t.Object) > 0 }

// ended schedules a poll of a job.
func (a *Announcer) ended(ctx context.Context, t *transaction.Transaction) {
	if isOfObject(t) {
		a.suggest(ctx, JobKind, []string{t.ID}, announceAfter)
	}
}

// Job announces the end of a job, if it has ended.
func (a *Announcer) Job(ctx context.Context, id string) error {
	t, err := a.jobs.Transactions.Job(ctx, transaction.Unit{Job: id})
	if err != nil {
		return protocol.Ignore(err, protocol.TransactionNotFound)
	}
	since, err := a.Outbox.Log.Since(ctx)
	if err != nil {
		return err
	}
	end, ok := t.End()
	if !ok || end.At.Before(since) || !isOfObject(t) {
		return nil
	}
	_, err = a.Outbox.Announce(ctx, jobsFolder+"/"+id, func(text json.RawMessage) (outbox.News, error) {
		var was jobMark
		if text != nil {
			// This end was announced before.
			if err := format.Decode("mark of events of job "+id, text, &was); err != nil || !end.At.After(was.Ended) {
				return outbox.News{}, err
			}
		}
		data := eventapi.Data{ID: t.Object, JobID: id, JobType: t.Kind, State: states[t.Status], Message: end.Message}
		ended := eventapi.Event{
			ID: fmt.Sprintf("%s/ended/%d", id, end.At.UnixMilli()), Type: eventapi.JobEnded, Time: end.At,
			Subject: protocol.JoinID(t.Object, protocol.DefaultDelimiter), Data: data,
		}
		return outbox.News{Events: []eventapi.Event{ended}, Mark: jobMark{end.At}, Expires: a.Outbox.Now().Add(forgetMark)}, nil
	})
	return err
}

// EndedJobs pages through the jobs that ended within the retention of events. Their ends may not be announced yet.
func (a *Announcer) EndedJobs(ctx context.Context, after string) (ids []string, next string, err error) {
	if a.jobs == nil {
		return nil, "", nil
	}
	jobs, next, err := a.jobs.Transactions.Jobs(ctx, after, listSize)
	if err != nil && !format.Newer(err) { // workers of a newer release announce its jobs
		return nil, "", err
	}
	from := a.Outbox.Now().Add(-a.Keep)
	for _, t := range jobs {
		if end, ok := t.End(); ok && end.At.After(from) && isOfObject(t) {
			ids = append(ids, t.ID)
		}
	}
	return ids, next, nil
}
