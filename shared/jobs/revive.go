package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/storage/format"
)

// A schedule sends messages of these kinds in a deployment without a long-running process. They let
// workers compare the records of jobs with the queue.
const (
	// ReviveKind resends the lost messages of jobs younger than [reviveRecent]. Records are listed
	// newest first, so the cost does not grow with the number of old jobs.
	ReviveKind = "revive"
	// ReviveAllKind resends the lost messages of all jobs.
	ReviveAllKind = "revive_all"
)

// reviveRecent is the age from which on [ReviveKind] ignores a job.
const reviveRecent = 24 * time.Hour

// Recover sends messages for all unfinished jobs of the worker's kinds, because an in-memory queue
// loses its messages with the process. It returns the number of jobs.
func (w *Worker) Recover(ctx context.Context) (jobs int, err error) {
	return w.each(ctx, time.Time{}, func(t *transaction.Transaction) error { return w.sendFor(ctx, t) })
}

// ReviveAll resends lost messages of all jobs. It returns the number of jobs that it checked.
func (w *Worker) ReviveAll(ctx context.Context) (jobs int, err error) {
	return w.revive(ctx, time.Time{})
}

// revive resends the lost messages of jobs that began at or after since.
func (w *Worker) revive(ctx context.Context, since time.Time) (jobs int, err error) {
	return w.each(ctx, since, func(t *transaction.Transaction) error { return w.Revive(ctx, t, w.Now()) })
}

// each calls do for every unfinished job that began at or after since, and counts the jobs. It
// continues after errors and joins them.
func (w *Worker) each(ctx context.Context, since time.Time, do func(*transaction.Transaction) error) (jobs int, err error) {
	const page = 100
	var wrong []error
	for after := ""; ; {
		found, next, err := w.Transactions.Jobs(ctx, after, page)
		if format.Newer(err) {
			w.Logger.Warn("a job is left to workers of a newer release", "error", err)
		} else if err != nil {
			return jobs, errors.Join(append(wrong, err)...)
		}
		for _, t := range found {
			if t.Created.Before(since) {
				return jobs, errors.Join(wrong...) // the following ones are older
			}
			if _, ours := w.Kinds[t.Kind]; !ours || t.Work == nil || t.Status.Ended() || t.Work.Paused {
				continue
			}
			if err := do(t); err != nil {
				wrong = append(wrong, fmt.Errorf("job %s: %w", t.ID, err))
			}
			if ctx.Err() != nil {
				return jobs, errors.Join(append(wrong, ctx.Err())...)
			}
			jobs++
		}
		if after = next; next == "" {
			return jobs, errors.Join(wrong...)
		}
	}
}
