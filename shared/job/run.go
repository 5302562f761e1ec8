package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tiltyard/shared/protocol"
	"tiltyard/shared/transaction"
)

// A Run is one go at a job or a part of it. It is used by one goroutine.
type Run struct {
	worker *Worker
	share  transaction.Share
	name   string
	taken  *transaction.Transaction // as it was at the last checkpoint
	parts  int                      // that it was split into
}

// ID returns the id of the job.
func (r *Run) ID() string { return r.share.Job }

// Object returns the id of the table or namespace that the job works on.
func (r *Run) Object() []string { return r.taken.Object }

// Began returns when the job, or the part, was first taken or queued.
func (r *Run) Began() time.Time { return r.taken.Created }

// Input reads into v what the job was begun with.
func (r *Run) Input(v any) error { return decode("input", r.taken.Work.Input, v) }

// State reads the last checkpoint into v, which stays as it is when there is none.
func (r *Run) State(v any) error { return decode("checkpoint", r.taken.Work.Checkpoint, v) }

func decode(what string, text json.RawMessage, v any) error {
	if len(text) == 0 {
		return nil
	}
	if err := json.Unmarshal(text, v); err != nil {
		return protocol.Errorf(protocol.InvalidInput, "the job's %s cannot be read: %w", what, err)
	}
	return nil
}

// Checkpoint notes how far the work has come, for the next run and for who asks: done of total
// steps, or zero when that is not known. A task that gets an error returns it, and does
// nothing more: the job was ended or paused, or somebody else goes on with it.
func (r *Run) Checkpoint(ctx context.Context, state any, done, total int64) error {
	encoded, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("checkpoint of job %s: %w", r.share.Job, err)
	}
	kept, err := r.worker.Transactions.Keep(ctx, r.share, r.name, leaseTime, func(t *transaction.Transaction) {
		t.Work.Checkpoint, t.Work.Failures = encoded, 0
		t.Done, t.Total = done, total
	})
	if err != nil {
		return err
	}
	r.taken = kept
	if err := r.jobGoesOn(ctx); err != nil {
		return err
	}
	if until, ok := ctx.Deadline(); ok && time.Until(until) < yieldMargin {
		return errYield
	}
	return nil
}

// jobGoesOn says whether the job of a part goes on.
func (r *Run) jobGoesOn(ctx context.Context) error {
	if r.share.Part == 0 {
		return nil
	}
	whole, err := r.worker.Transactions.Job(ctx, r.share.Job)
	switch {
	case err != nil:
		return err
	case whole.Status.Ended():
		return transaction.ErrEnded
	case whole.Work.Paused:
		_, err := r.worker.Transactions.Leave(ctx, r.share, r.name, func(*transaction.Transaction) {})
		return errors.Join(transaction.ErrPaused, err)
	}
	return nil
}

// errSplit says that the job goes on by its parts.
var errSplit = errors.New("the job was split")

// Split lets the job go on in parts, side by side. The task returns the error. It is run again
// when all of them have ended, and then knows their [Run.Results].
func (r *Run) Split(ctx context.Context, parts int) error {
	if _, err := r.worker.Transactions.Split(ctx, r.share.Job, r.name, parts); err != nil {
		return err
	}
	r.parts = parts
	return errSplit
}

// Results returns what the parts of the job came to, nil when it was not split.
func (r *Run) Results(ctx context.Context) ([]json.RawMessage, error) {
	var results []json.RawMessage
	for i := range r.taken.Work.Parts {
		part, err := r.worker.Transactions.Part(ctx, transaction.Share{Job: r.share.Job, Part: i + 1})
		if err != nil {
			return nil, err
		}
		if part == nil {
			return nil, fmt.Errorf("part %d of job %s left no result", i+1, r.share.Job)
		}
		results = append(results, part.Result)
	}
	return results, nil
}

func (r *Run) call(ctx context.Context, task Task) (any, error) {
	switch {
	case r.share.Part == 0:
		return task.Run(ctx, r)
	case task.Part == nil:
		return nil, protocol.Errorf(protocol.Unsupported, "jobs of kind %s have no parts", r.taken.Kind)
	}
	return task.Part(ctx, r, r.share.Part)
}

// message is what lets somebody go on with the share.
func (r *Run) message() Message { return Message{Job: r.share.Job, Part: r.share.Part} }

// beat says now and then that the worker lives. When it must not go on, the context of the
// work ends.
func (r *Run) beat(ctx context.Context, stop context.CancelCauseFunc) {
	seen := r.worker.Now()
	for sleep(ctx, heartbeat) {
		_, err := r.worker.Transactions.Keep(ctx, r.share, r.name, leaseTime, func(*transaction.Transaction) {})
		switch {
		case err == nil:
			seen = r.worker.Now()
		case settled(err) == nil:
			stop(err)
			return
		case r.worker.Now().Sub(seen) > leaseTime:
			stop(transaction.ErrHeld) // by now, as far as we know
			return
		}
	}
}
