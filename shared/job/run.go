package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"tiltyard/shared/protocol"
	"tiltyard/shared/transaction"
)

// A Run is one go at a stage of a job, or at a part of it. A task uses it in one goroutine, but
// for [Run.Progress].
type Run struct {
	worker *Worker
	kind   Kind
	share  transaction.Share
	name   string
	taken  *transaction.Transaction // the share as it was at the last checkpoint
	job    *transaction.Transaction // of a part, as it was when that was taken; else taken

	mu    sync.Mutex
	told  Progress
	fresh bool // told is not on record yet
}

// Progress is how far a stage or a part has come, as far as its task knows.
type Progress struct {
	Done, Total int64 // steps; Total is 0 when it is not known
	Rows        int64 // that are done
}

// ID returns the id of the job.
func (r *Run) ID() string { return r.share.Job }

// Stage returns the name of the stage.
func (r *Run) Stage() string { return r.stage().Name }

// Part returns which part of the stage it is, from 1, and of how many. Of a stage without parts
// it is 1 of 1.
func (r *Run) Part() (part, of int) { return max(r.share.Part, 1), max(r.job.Work.Parts, 1) }

// Object returns the id of the table or namespace that the job works on.
func (r *Run) Object() []string { return r.job.Object }

// Began returns when the job was queued.
func (r *Run) Began() time.Time { return r.job.Created }

// Input reads into v what the job was begun with.
func (r *Run) Input(v any) error { return decode("input", r.job.Work.Input, v) }

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

// Results returns what an earlier stage came to: one result for each of its parts, or a single
// one when it has none.
func (r *Run) Results(ctx context.Context, stage string) ([]json.RawMessage, error) {
	result, ended := r.job.Work.Results[stage]
	if !ended {
		return nil, fmt.Errorf("job %s has not done a stage %q before %q", r.share.Job, stage, r.Stage())
	}
	var parts int
	if found, _, ok := r.kind.find(stage); !ok || found.Parts == nil {
		return []json.RawMessage{result}, nil
	}
	if err := json.Unmarshal(result, &parts); err != nil {
		return nil, fmt.Errorf("parts of stage %s of job %s: %w", stage, r.share.Job, err)
	}
	return r.resultsOf(ctx, stage, parts)
}

func (r *Run) resultsOf(ctx context.Context, stage string, parts int) ([]json.RawMessage, error) {
	found, err := r.worker.Transactions.Parts(ctx, r.share.Job, stage, parts)
	if err != nil {
		return nil, err
	}
	results := make([]json.RawMessage, parts)
	for i, part := range found {
		if part == nil || part.Status != protocol.TransactionSucceeded {
			return nil, fmt.Errorf("part %d of stage %s of job %s left no result", i+1, stage, r.share.Job)
		}
		results[i] = part.Result
	}
	return results, nil
}

// Progress tells how far the work has come. It costs nothing: it is noted with the next
// checkpoint, or when the worker next says that it lives. It may be called by several goroutines.
func (r *Run) Progress(p Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told, r.fresh = p, true
}

// note puts on record what is known by the worker alone.
func (r *Run) note(t *transaction.Transaction) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fresh {
		t.Done, t.Total = r.told.Done, r.told.Total
		t.Rows = max(t.Rows, r.told.Rows)
	}
	if stage, number, ok := r.kind.find(t.Work.Stage); ok && r.share.Part == 0 {
		t.Work.Stage, t.Work.StagesDone, t.Work.Stages = stage.Name, number, len(r.kind.Stages)
	}
}

// Checkpoint notes how far the work has come, for the next run, and with it the progress. A task
// that gets an error returns it, and does nothing more: the job was ended or paused, somebody
// else goes on with it, or there is no time left.
func (r *Run) Checkpoint(ctx context.Context, state any) error {
	encoded, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("checkpoint of job %s: %w", r.share.Job, err)
	}
	err = r.keep(ctx, func(t *transaction.Transaction) { t.Work.Checkpoint, t.Work.Failures = encoded, 0 })
	if err != nil {
		return err
	}
	if err := r.jobGoesOn(ctx); err != nil {
		return err
	}
	if until, ok := ctx.Deadline(); ok && time.Until(until) < yieldMargin {
		return errYield
	}
	return nil
}

// keep changes the share, and holds it for longer.
func (r *Run) keep(ctx context.Context, change func(*transaction.Transaction)) error {
	kept, err := r.worker.Transactions.Keep(ctx, r.share, r.name, leaseTime, func(t *transaction.Transaction) {
		r.note(t)
		change(t)
	})
	if err != nil {
		return err
	}
	if r.taken = kept; r.share.Part == 0 {
		r.job = kept
	}
	return nil
}

// leave changes the share for the last time and frees it. What goes on comes after some time. An
// answer that is lost is asked for again: a run that does not say that it ended counts as one
// that ended its process.
func (r *Run) leave(ctx context.Context, after time.Duration, change func(*transaction.Transaction)) (err error) {
	const attempts = 3
	for range attempts {
		_, err = r.worker.Transactions.Leave(ctx, r.share, r.name, after, func(t *transaction.Transaction) {
			r.note(t)
			change(t)
		})
		if err == nil || settled(err) == nil || ctx.Err() != nil {
			break
		}
	}
	return err
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
		return errors.Join(transaction.ErrEnded, r.leave(ctx, 0, func(*transaction.Transaction) {}))
	case whole.Work.Paused:
		return errors.Join(transaction.ErrPaused, r.leave(ctx, 0, func(*transaction.Transaction) {}))
	}
	return nil
}

// stage returns that of the share.
func (r *Run) stage() Stage {
	stage, _, _ := r.kind.find(r.job.Work.Stage)
	return stage
}

// message is what lets somebody go on with the share.
func (r *Run) message() Message {
	return Message{Job: r.share.Job, Stage: r.share.Stage, Part: r.share.Part}
}

// beat says now and then that the worker lives. When it must not go on, the context of the
// work ends.
func (r *Run) beat(ctx context.Context, stop context.CancelCauseFunc) {
	seen := r.worker.Now()
	for sleep(ctx, heartbeat) {
		_, err := r.worker.Transactions.Keep(ctx, r.share, r.name, leaseTime, r.note)
		if err == nil {
			err = r.jobGoesOn(ctx)
		}
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
