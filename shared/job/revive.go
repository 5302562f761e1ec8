package job

import (
	"context"

	"tiltyard/shared/transaction"
)

// Recover sends messages for all unfinished jobs of the kinds that this worker runs, because
// messages of the memory queue end with the process. It returns the number of jobs.
func (w *Worker) Recover(ctx context.Context) (jobs int, err error) {
	return w.each(ctx, func(t *transaction.Transaction) error { return w.sendFor(ctx, t) })
}

// ReviveAll sends messages for all jobs whose messages are lost. It returns the number of jobs that
// it checked.
func (w *Worker) ReviveAll(ctx context.Context) (jobs int, err error) {
	return w.each(ctx, func(t *transaction.Transaction) error { return w.Revive(ctx, t, w.Now()) })
}

// each calls do for every unfinished job, and counts the jobs.
func (w *Worker) each(ctx context.Context, do func(*transaction.Transaction) error) (jobs int, err error) {
	const page = 100
	for after := ""; ; {
		found, next, err := w.Transactions.Jobs(ctx, after, page)
		if err != nil {
			return jobs, err
		}
		for _, t := range found {
			if _, ours := w.Kinds[t.Kind]; !ours || t.Work == nil || t.Status.Ended() || t.Work.Paused {
				continue
			}
			if err := do(t); err != nil {
				return jobs, err
			}
			jobs++
		}
		if after = next; next == "" {
			return jobs, nil
		}
	}
}
