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

// poll runs a poll. It returns nil if there is nothing to do or the poll failed. A poll can crash its process, so it has
// a record while it runs. After [transaction.MaxDeaths] crashes no worker polls again until a user resumes the job that
// represents the poll.
func (w *Worker) poll(ctx context.Context, m Message) (*Trigger, error) {
	ask := w.Kinds[m.Kind].Poll
	if ask == nil {
		return nil, fmt.Errorf("kind %q has no poll", m.Kind)
	}
	r := &Run{worker: w, unit: m.unit(), name: w.Name()}
	var err error
	r.taken, r.job, err = w.Transactions.Take(ctx, r.unit, r.name, leaseTime)
	switch {
	case errors.Is(err, transaction.ErrHeld):
		return nil, nil // another worker is polling
	case errors.Is(err, transaction.ErrEnded):
		return nil, w.pollSetAside(ctx, m)
	case err != nil:
		return nil, errors.Join(err, r.endPoll(ctx)) // the write may have succeeded, so end the poll
	}
	if r.taken.Work.Deaths > 0 {
		if !w.suspect.TryLock() {
			return nil, r.leave(ctx, 0, func(*transaction.Transaction) {}) // a later suggestion leads to a new poll
		}
		defer w.suspect.Unlock()
	}
	var trigger *Trigger
	err = w.whileItLives(ctx, r, func(ctx context.Context) (err error) {
		trigger, err = ask(objectstore.Ordinary(ctx), m.Object)
		return err
	})
	if err := r.endPoll(ctx); err != nil {
		w.Logger.WarnContext(ctx, "could not record the end of a poll", "kind", m.Kind, "object", m.Object, "error", err)
	}
	if err != nil {
		// A lost poll does no harm: later suggestions lead to new ones.
		w.Logger.WarnContext(ctx, "a poll has failed", "kind", m.Kind, "object", m.Object, "error", err)
		return nil, ctx.Err()
	}
	return trigger, nil
}

// endPoll records that a poll has ended, also when the process is shutting down. A poll without
// that record counts as a crash.
func (r *Run) endPoll(ctx context.Context) (err error) {
	free, done := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer done()
	const attempts = 3
	for range attempts {
		if err = r.worker.Transactions.EndPoll(free, r.unit, r.name); err == nil {
			break
		}
	}
	return err
}

// pollSetAside creates a failed job that shows users that a poll was set aside.
func (w *Worker) pollSetAside(ctx context.Context, m Message) error {
	job, err := w.Transactions.JobOfPoll(ctx, m.Kind, m.Object)
	if err != nil || job == nil {
		return err
	}
	return w.noteSetAside(ctx, job)
}

// poll is the first step of a job that represents a poll that was set aside. It reports whether
// there is work, with which the job then continues.
func (r *Run) poll(ctx context.Context) (wanted bool, err error) {
	if r.kind.Poll == nil {
		return false, protocol.Errorf(protocol.Unsupported, "kind %q has no poll", r.job.Kind)
	}
	trigger, err := r.kind.Poll(ctx, r.Object())
	// The poll has succeeded, so normal polls may run again.
	if err == nil {
		err = r.worker.Transactions.ForgetPoll(ctx, r.job.Kind, r.Object())
	}
	if err != nil || trigger == nil {
		return false, err
	}
	input, err := json.Marshal(trigger.Input)
	if err != nil {
		return false, fmt.Errorf("begin job %s: %w", r.job.Kind, err)
	}
	return true, r.keep(ctx, func(t *transaction.Transaction) {
		t.Work.Poll, t.Work.Input, t.Work.Revision = false, input, trigger.Revision
	})
}
