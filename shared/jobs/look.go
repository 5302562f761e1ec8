package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
)

// wanted runs a look. It returns nil if there is nothing to do or the look failed. A look can crash its process, so it has
// a record while it runs. After [transaction.MaxDeaths] crashes no worker looks again until a user resumes the job that
// represents the look.
func (w *Worker) wanted(ctx context.Context, m Message) (*Want, error) {
	ask := w.Kinds[m.Kind].Wanted
	if ask == nil {
		return nil, fmt.Errorf("kind %q has no look", m.Kind)
	}
	r := &Run{worker: w, unit: m.unit(), name: w.Name()}
	var err error
	r.taken, r.job, err = w.Transactions.Take(ctx, r.unit, r.name, leaseTime)
	switch {
	case errors.Is(err, transaction.ErrHeld):
		return nil, nil // another worker is looking
	case errors.Is(err, transaction.ErrEnded):
		return nil, w.lookAside(ctx, m)
	case err != nil:
		return nil, errors.Join(err, r.endLook(ctx)) // the write may have succeeded, so end the look
	}
	if r.taken.Work.Deaths > 0 {
		if !w.suspect.TryLock() {
			return nil, r.leave(ctx, 0, func(*transaction.Transaction) {}) // a later suggestion leads to a new look
		}
		defer w.suspect.Unlock()
	}
	var want *Want
	err = w.whileItLives(ctx, r, func(ctx context.Context) (err error) {
		want, err = ask(objectstore.Ordinary(ctx), m.Object)
		return err
	})
	if err := r.endLook(ctx); err != nil {
		w.Logger.WarnContext(ctx, "could not record the end of a look", "kind", m.Kind, "object", m.Object, "error", err)
	}
	if err != nil {
		// A lost look does no harm: later suggestions lead to new ones.
		w.Logger.WarnContext(ctx, "a look has failed", "kind", m.Kind, "object", m.Object, "error", err)
		return nil, ctx.Err()
	}
	return want, nil
}

// endLook records that a look has ended, also when the process is shutting down. A look without
// that record counts as a crash.
func (r *Run) endLook(ctx context.Context) (err error) {
	free, done := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer done()
	const attempts = 3
	for range attempts {
		if err = r.worker.Transactions.EndLook(free, r.unit, r.name); err == nil {
			break
		}
	}
	return err
}

// lookAside creates a failed job that shows users that a look was set aside.
func (w *Worker) lookAside(ctx context.Context, m Message) error {
	job, err := w.Transactions.JobOfLook(ctx, m.Kind, m.Object)
	if err != nil || job == nil {
		return err
	}
	return w.noteAside(ctx, job)
}

// look is the first step of a job that represents a look that was set aside. It reports whether
// there is work, with which the job then continues.
func (r *Run) look(ctx context.Context) (wanted bool, err error) {
	if r.kind.Wanted == nil {
		return false, protocol.Errorf(protocol.Unsupported, "kind %q has no look", r.job.Kind)
	}
	want, err := r.kind.Wanted(ctx, r.Object())
	// The look has succeeded, so normal looks may run again.
	if err == nil {
		err = r.worker.Transactions.ForgetLook(ctx, r.job.Kind, r.Object())
	}
	if err != nil || want == nil {
		return false, err
	}
	input, err := json.Marshal(want.Input)
	if err != nil {
		return false, fmt.Errorf("begin job %s: %w", r.job.Kind, err)
	}
	return true, r.keep(ctx, func(t *transaction.Transaction) {
		t.Work.Look, t.Work.Input, t.Work.Mark = false, input, want.Mark
	})
}
