package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/storage/format"
)

// The clock of a deployment without a long-running process sends messages of these kinds, with which
// workers reconcile the records of jobs with the queue.
const (
	// ReviveKind resends the lost messages of jobs that were begun within [reviveRecent]. Records are
	// listed newest first, so the cost does not grow with the number of old jobs.
	ReviveKind = "revive"
	// ReviveAllKind sends for the lost messages of all jobs.
	ReviveAllKind = "revive_all"
)

// reviveRecent is the age of jobs that [ReviveKind] leaves to [ReviveAllKind].
const reviveRecent = 24 * time.Hour

// Recover sends messages for all unfinished jobs of the kinds that this worker runs, because
// messages of the memory queue end with the process. It returns the number of jobs.
func (w *Worker) Recover(ctx context.Context) (jobs int, err error) {
	return w.each(ctx, time.Time{}, func(t *transaction.Transaction) error { return w.sendFor(ctx, t) })
}

// ReviveAll sends messages for all jobs whose messages are lost. It returns the number of jobs that
// it checked.
func (w *Worker) ReviveAll(ctx context.Context) (jobs int, err error) {
	return w.revive(ctx, time.Time{})
}

// revive resends the lost messages of jobs that were begun at a time or later.
func (w *Worker) revive(ctx context.Context, since time.Time) (jobs int, err error) {
	return w.each(ctx, since, func(t *transaction.Transaction) error { return w.Revive(ctx, t, w.Now()) })
}

// each calls do for every unfinished job that was begun at a time or later, and counts the jobs. It
// continues after an error, and returns all errors together.
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
