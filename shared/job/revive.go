package job

import (
	"context"

	"tiltyard/shared/transaction"
)

// Recover sends for all jobs that have not ended, of the kinds that are done here: messages of
// the memory queue end with the process. It returns how many there are.
func (w *Worker) Recover(ctx context.Context) (jobs int, err error) {
	return w.each(ctx, func(t *transaction.Transaction) error { return w.sendFor(ctx, t) })
}

// ReviveAll sends for all jobs whose messages are lost. It returns how many jobs it looked at.
func (w *Worker) ReviveAll(ctx context.Context) (jobs int, err error) {
	return w.each(ctx, func(t *transaction.Transaction) error { return w.Revive(ctx, t, w.Now()) })
}

// each does something to all jobs that have not ended, and counts them.
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
