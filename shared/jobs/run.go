package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/process/backoff"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/format"
	"tiltyard/shared/storage/objectstore"
)

// A Run is one attempt at a unit. A task uses it in one goroutine, except for [Run.Progress].
type Run struct {
	worker *Worker
	kind   Kind
	unit   transaction.Unit
	name   string
	trace  string                   // parent span, from the message
	taken  *transaction.Transaction // the record of the unit at the last checkpoint
	job    *transaction.Transaction // the job's record; the same as taken unless the unit is a part

	mu       sync.Mutex
	reported Progress
	fresh    bool // reported is not recorded yet
}

// Progress is the progress of a stage or a part, as its task reports it.
type Progress struct {
	Done, Total int64 // counts steps; Total is 0 when unknown
	Rows        int64 // counts processed rows
}

// ID returns the id of the job.
func (r *Run) ID() string { return r.unit.Job }

// Stage returns the name of the stage.
func (r *Run) Stage() string { return r.stage().Name }

// Part returns the number of the part, from 1, and the number of parts. For a stage without parts
// it is 1 of 1.
func (r *Run) Part() (part, of int) { return max(r.unit.Part, 1), max(r.job.Work.Parts, 1) }

// Object returns the id of the table or namespace that the job works on.
func (r *Run) Object() []string { return r.job.Object }

// By returns the principal whose request began the job, or nil if no request did.
func (r *Run) By() *auth.Principal { return r.job.Work.By }

// Attempt returns the id and the time of the commit that the job makes at most once: a run after a crash finds the commit
// of the earlier run.
func (r *Run) Attempt() (id string, began time.Time) {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(r.ID())).String(), r.Began()
}

// Began returns when the job was queued.
func (r *Run) Began() time.Time { return r.job.Created }

// Input decodes the input of the job into v.
func (r *Run) Input(v any) error { return decode("input", r.job.Work.Input, v) }

// State decodes the last checkpoint into v. It leaves v unchanged when there is none.
func (r *Run) State(v any) error { return decode("checkpoint", r.taken.Work.Checkpoint, v) }

// decode decodes a text of the record; an empty text leaves v unchanged. The error is InvalidInput, or
// recognized by [format.Newer].
func decode(what string, text json.RawMessage, v any) error {
	if len(text) == 0 {
		return nil
	}
	if err := format.Decode("the job's "+what, text, v); format.Newer(err) {
		return err
	} else if err != nil {
		return protocol.Errorf(protocol.InvalidInput, "the job's %s cannot be read: %w", what, err)
	}
	return nil
}

// Results returns the encoded results of an earlier stage: one for each part, or a single one if
// the stage has no parts.
func (r *Run) Results(ctx context.Context, stage string) ([]json.RawMessage, error) {
	name := inPass(stage, r.job.Work.Pass)
	result, ended := r.job.Work.Results[name]
	if !ended { // it is not in a pass
		name = stage
		result, ended = r.job.Work.Results[name]
	}
	if !ended {
		return nil, fmt.Errorf("job %s has not run stage %q before stage %q", r.unit.Job, stage, r.Stage())
	}
	var parts int
	if found, _, ok := r.kind.find(stage); !ok || found.Parts == nil {
		return []json.RawMessage{result}, nil
	}
	if err := json.Unmarshal(result, &parts); err != nil {
		return nil, fmt.Errorf("parts of stage %s of job %s: %w", stage, r.unit.Job, err)
	}
	if parts == 0 {
		return nil, nil
	}
	return r.resultsOf(ctx, name, parts)
}

// ResultsOf returns the results of an earlier stage, decoded into T.
func ResultsOf[T any](ctx context.Context, r *Run, stage string) ([]T, error) {
	encoded, err := r.Results(ctx, stage)
	if err != nil {
		return nil, err
	}
	results := make([]T, len(encoded))
	for i, text := range encoded {
		if err := format.Decode("the result of stage "+stage, text, &results[i]); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// resultsOf reads the results from the records of the parts.
func (r *Run) resultsOf(ctx context.Context, stage string, parts int) ([]json.RawMessage, error) {
	found, err := r.worker.Transactions.Parts(ctx, r.unit.Whole(), stage, parts)
	if err != nil {
		return nil, err
	}
	results := make([]json.RawMessage, parts)
	for i, part := range found {
		if part == nil || part.Status != transactionapi.Succeeded {
			return nil, fmt.Errorf("part %d of stage %s of job %s has no result", i+1, stage, r.unit.Job)
		}
		results[i] = part.Result
	}
	return results, nil
}

// Progress reports the progress of the work. It sends no request: the next checkpoint or heartbeat
// records it. It is safe for concurrent use.
func (r *Run) Progress(p Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reported, r.fresh = p, true
}

// note copies the progress into the record.
func (r *Run) note(t *transaction.Transaction) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fresh {
		t.Done, t.Total = r.reported.Done, r.reported.Total
		t.Rows = max(t.Rows, r.reported.Rows)
	}
	if stage, number, ok := r.kind.find(t.Work.Stage); ok && r.unit.Part == 0 {
		if t.Work.Stage == "" {
			t.Work.Stage = stage.Name
		}
		t.Work.StagesDone, t.Work.Stages = number, len(r.kind.Stages)
	}
}

// Checkpoint records the state for the next run, and the progress. The task must return its error
// and stop: a user ended or paused the job, another worker has taken the unit over, or the time is
// over.
func (r *Run) Checkpoint(ctx context.Context, state any) error {
	return r.CheckpointBefore(ctx, state, yieldMargin)
}

// CheckpointBefore is Checkpoint before work that takes up to the given time. The time is over if less is left.
func (r *Run) CheckpointBefore(ctx context.Context, state any, work time.Duration) error {
	encoded, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("checkpoint of job %s: %w", r.unit.Job, err)
	}
	// Progress was made, so earlier failures do not count any more.
	err = r.keep(ctx, func(t *transaction.Transaction) { t.Work.Checkpoint, t.Work.Failures = encoded, 0 })
	if err != nil {
		return err
	}
	if err := r.jobGoesOn(ctx); err != nil {
		return err
	}
	if until, ok := ctx.Deadline(); ok && time.Until(until) < work {
		return Later(0)
	}
	return nil
}

// keep changes the record of the unit and extends its lease. The write may use the reserved space of a full disk, because
// the record takes no further space.
func (r *Run) keep(ctx context.Context, change func(*transaction.Transaction)) error {
	kept, err := r.worker.Transactions.Keep(objectstore.Freeing(ctx), r.unit, r.name, leaseTime, func(t *transaction.Transaction) {
		r.note(t)
		change(t)
	})
	if err != nil {
		return err
	}
	if r.taken = kept; r.unit.Part == 0 {
		r.job = kept
	}
	return nil
}

// leave changes the record of the unit for the last time and ends the lease. The next message is
// due after the given delay. leave retries after a lost answer, because a run without a recorded
// end counts as a crash.
func (r *Run) leave(ctx context.Context, after time.Duration, change func(*transaction.Transaction)) (err error) {
	const attempts = 3
	for range attempts {
		_, err = r.worker.Transactions.Leave(ctx, r.unit, r.name, after, func(t *transaction.Transaction) {
			r.note(t)
			change(t)
		})
		if err == nil || settled(err) == nil || ctx.Err() != nil {
			break
		}
	}
	return err
}

// jobGoesOn returns an error if the job of a part has ended or is paused.
func (r *Run) jobGoesOn(ctx context.Context) error {
	if r.unit.Part == 0 {
		return nil
	}
	whole, err := r.worker.Transactions.Job(ctx, r.unit.Whole())
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

// stage returns the stage of the unit.
func (r *Run) stage() Stage {
	stage, _, _ := r.kind.find(r.job.Work.Stage)
	return stage
}

// message returns the message with which the next run continues the unit.
func (r *Run) message() Message {
	m := messageFor(r.unit, r.isHeavy())
	m.Trace = r.trace
	return m
}

// beat extends the lease at regular intervals. It cancels the context of the work if the run must
// stop.
func (r *Run) beat(ctx context.Context, stop context.CancelCauseFunc) {
	seen := r.worker.Now()
	for backoff.Sleep(ctx, heartbeat) == nil {
		_, err := r.worker.Transactions.Keep(ctx, r.unit, r.name, leaseTime, r.note)
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
			stop(transaction.ErrHeld) // the lease has expired by the clock of this process
			return
		}
	}
}
