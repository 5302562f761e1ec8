package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/process/backoff"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/process/tracing"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/format"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/outage"
)

// A Worker runs jobs. It is safe for concurrent use.
type Worker struct {
	Starter
	Kinds  map[string]Kind // by name
	Name   func() string   // returns a unique name for each run
	Now    func() time.Time
	Logger *slog.Logger
	Memory *memory.Budget  // bounds the memory of all runs; nil sets no bound
	Light  bool            // passes heavy work on if there is a queue for it
	Traces *tracing.Tracer // may be nil
	// Observe is called after each run of a job that works for a tenant. Nil: no call.
	Observe func(Ran)

	// suspect serializes the runs of units that have crashed a process before.
	suspect sync.Mutex
}

const (
	// leaseTime is the length of a lease. Heartbeats renew it.
	leaseTime = 90 * time.Second
	// holdTime is the time for which a message is hidden from other workers. Heartbeats renew it. It is
	// longer than leaseTime, so that the lease has expired when the message of a dead worker is
	// delivered again.
	holdTime = 2 * time.Minute
	// heartbeat is the interval between two heartbeats.
	heartbeat = leaseTime / 4
	// maxFailures bounds the failed runs of a unit since its last checkpoint.
	maxFailures = 5
	// firstRetry is the delay after the first failure. Each further failure doubles it.
	firstRetry = 5 * time.Second
	// outagePause is the delay after a run failed because another service was unavailable.
	outagePause = time.Minute
	// suspectPause is the delay of a suspect unit while the process runs another suspect.
	suspectPause = 15 * time.Second
	// yieldMargin is the time before the deadline at which a checkpoint ends the run.
	yieldMargin = 20 * time.Second
)

// Serve processes the messages of the worker's queue, up to workers at a time, until the context
// ends.
func (w *Worker) Serve(ctx context.Context, workers int) { w.ServeFrom(ctx, w.Queue, workers) }

// ServeFrom processes the messages of one queue, up to workers at a time, until the context ends.
func (w *Worker) ServeFrom(ctx context.Context, from Queue, workers int) {
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for ctx.Err() == nil {
				w.serveOne(ctx, from)
			}
		})
	}
	group.Wait()
}

// receivePause is the pause after an error of the queue.
const receivePause = time.Second

// serveOne receives and processes one message. After an error it leaves the message to be delivered
// again.
func (w *Worker) serveOne(ctx context.Context, from Queue) {
	d, err := from.Receive(ctx, holdTime)
	if err != nil {
		if ctx.Err() == nil {
			w.Logger.Warn("could not receive a message of a job", "error", err)
			_ = backoff.Sleep(ctx, receivePause)
		}
		return
	}
	if err = w.DoHeld(ctx, from, d); err == nil {
		err = from.Done(ctx, d)
	}
	if err != nil && ctx.Err() == nil {
		w.Logger.Warn("a message of a job will be delivered again", "job", d.Job, "kind", d.Kind, "error", err)
	}
}

// DoHeld processes a message of a queue. It keeps the message hidden from other workers while the work continues, two
// minutes at a time, so that the message is delivered again soon after the worker has died.
func (w *Worker) DoHeld(ctx context.Context, from Queue, d Delivery) error {
	held, release := context.WithCancel(ctx)
	extending := make(chan struct{})
	go func() {
		defer close(extending)
		for {
			if err := from.Extend(held, d, holdTime); err != nil && held.Err() == nil {
				w.Logger.Warn("a message of a job may be delivered twice", "error", err)
			}
			if backoff.Sleep(held, heartbeat) != nil {
				return
			}
		}
	}()
	// Wait for the last Extend, which could otherwise hide the message again after Done.
	defer func() {
		release()
		<-extending
	}()
	return w.Do(ctx, d.Message)
}

// Do processes a message. If the error is nil, the message is done, although the job may not be;
// else the message must be delivered again.
func (w *Worker) Do(ctx context.Context, m Message) error {
	// The context permits writes to a full disk, because jobs that free space must be able to begin.
	ctx, span := w.Traces.Message(objectstore.Freeing(ctx), m.Trace, m.work())
	defer span.End()
	err := w.do(ctx, m)
	if err != nil {
		span.Fail(wordOf(err))
	}
	return err
}

// do leases the unit of a message and runs it.
func (w *Worker) do(ctx context.Context, m Message) error {
	if m.Job == "" {
		return w.handlePoll(ctx, m)
	}
	unit := m.unit()
	r := &Run{worker: w, unit: unit, name: w.Name(), trace: m.Trace}
	var err error
	r.taken, r.job, err = w.Transactions.Take(ctx, unit, r.name, leaseTime)
	switch {
	case errors.Is(err, transaction.ErrEnded):
		return w.ended(ctx, unit)
	case errors.Is(err, transaction.ErrPaused), protocol.CodeOf(err) == protocol.TransactionNotFound:
		return nil
	case errors.Is(err, transaction.ErrHeld):
		// Another worker has the lease. If it dies, this message may be the only one, so it comes back
		// later.
		return w.send(ctx, w.untilFree(m, r.taken), m)
	case err != nil:
		// The write may have succeeded, so end the lease instead of waiting until it expires.
		return errors.Join(err, settled(r.leave(ctx, 0, func(*transaction.Transaction) {})))
	}
	if r.taken.Work.Deaths > 0 {
		if !w.suspect.TryLock() {
			return w.conclude(ctx, r, nil, Later(suspectPause))
		}
		defer w.suspect.Unlock()
	}
	known := false
	if r.kind, known = w.Kinds[r.taken.Kind]; !known {
		err := fmt.Errorf("job %s is of kind %q, which this worker does not run", m.Job, r.taken.Kind)
		return errors.Join(err, settled(r.leave(ctx, 0, func(t *transaction.Transaction) {
			t.Work.Trouble = fmt.Sprintf("the worker does not run jobs of kind %q", t.Kind)
		})))
	}
	return w.run(ctx, r)
}

// untilFree returns the time until a held unit may be taken over. It is short for a job that sends
// messages to its parts: the parts may end while it is still sending, and then the job continues.
func (w *Worker) untilFree(m Message, held *transaction.Transaction) time.Duration {
	if m.Part == 0 && held.Work.Parts > 0 {
		return 2 * time.Second
	}
	return held.Work.Until.Sub(w.Now()) + time.Second
}

// handlePoll processes a message without a job. It runs a poll, which begins a job if there is work, or
// resends lost messages if the schedule requests that.
func (w *Worker) handlePoll(ctx context.Context, m Message) error {
	switch m.Kind {
	case ReviveKind:
		_, err := w.revive(ctx, w.Now().Add(-reviveRecent))
		return err
	case ReviveAllKind:
		_, err := w.ReviveAll(ctx)
		return err
	}
	trigger, err := w.poll(ctx, m)
	if trigger == nil || err != nil {
		return err
	}
	setAside, err := w.Transactions.IsSetAside(ctx, m.Kind, m.Object, trigger.Revision)
	if setAside || err != nil {
		return err
	}
	_, err = w.begin(ctx, m.Kind, m.Object, *trigger)
	return err
}

// ended performs the steps that follow the end of a unit, because the worker that ended it may have
// died before.
func (w *Worker) ended(ctx context.Context, unit transaction.Unit) error {
	job, err := w.Transactions.Job(ctx, unit.Whole())
	switch {
	case protocol.CodeOf(err) == protocol.TransactionNotFound:
		return nil
	case err != nil:
		return err
	// The process that set the job aside may have died before it noted that.
	case job.Status.Ended():
		return w.noteSetAside(ctx, job)
	case unit.Part == 0 || job.Work == nil || job.Work.Stage != unit.Stage:
		return nil
	}
	part, err := w.Transactions.Part(ctx, unit)
	switch {
	case err != nil || part == nil:
		return err
	case part.Status == transactionapi.Succeeded:
		return w.arrive(ctx, unit, job.Work.Parts, part.Rows)
	case part.Status.Ended():
		return w.failJob(ctx, partFailed{unit, part})
	}
	return nil
}

// noteSetAside logs that a job was set aside. If a poll had begun it, noteSetAside prevents that another
// one begins the same work again.
func (w *Worker) noteSetAside(ctx context.Context, job *transaction.Transaction) error {
	if job.Work == nil || !job.Work.SetAside {
		return nil
	}
	w.Logger.ErrorContext(ctx, "a job is set aside", "job", job.ID, "kind", job.Kind, "object", job.Object, "failure", job.Failure)
	if job.Work.Revision == "" {
		return nil
	}
	return w.Transactions.SetAside(ctx, job)
}

// failJob ends a job because one of its parts failed.
func (w *Worker) failJob(ctx context.Context, p partFailed) error {
	ended, err := w.Transactions.Advance(ctx, p.unit.Whole(), func(t *transaction.Transaction) {
		t.Status, t.Failure = transactionapi.Failed, p.Error()
		t.Work.SetAside = p.part.Work.SetAside
	})
	if err != nil {
		return settled(err)
	}
	return w.noteSetAside(ctx, ended)
}

// arrive sends a message for the job if the part that ended was the last.
func (w *Worker) arrive(ctx context.Context, unit transaction.Unit, parts int, rows int64) error {
	last, err := w.Transactions.Arrive(ctx, unit, parts, rows)
	if err != nil || !last {
		return err
	}
	return w.send(ctx, 0, Message{Job: unit.Job})
}

// Bury sets aside the unit of a message that the queue gave up after too many deliveries.
func (w *Worker) Bury(ctx context.Context, m Message) error {
	if m.Job == "" {
		w.Logger.ErrorContext(ctx, "a poll was set aside because no worker could process its message", "kind", m.Kind, "object", m.Object)
		return nil
	}
	unit := m.unit()
	_, err := w.Transactions.GiveUp(ctx, unit, "the message for "+unit.String()+" was delivered again and again, and no worker could process it")
	switch {
	case errors.Is(err, transaction.ErrHeld):
		return w.send(ctx, leaseTime, m) // another message was processed in the meantime
	case protocol.CodeOf(err) == protocol.TransactionNotFound:
		return nil
	case err != nil && !errors.Is(err, transaction.ErrEnded):
		return err
	}
	return w.ended(ctx, unit)
}

// settled returns nil for errors that end a run without a failure: another worker has the unit, or
// the job has ended or is paused.
func settled(err error) error {
	if errors.Is(err, transaction.ErrEnded) || errors.Is(err, transaction.ErrPaused) || errors.Is(err, transaction.ErrHeld) {
		return nil
	}
	return err
}

// run runs the task of a unit with a heartbeat, and records the result.
func (w *Worker) run(ctx context.Context, r *Run) error {
	var result any
	err := w.observed(ctx, r, func(ctx context.Context) error {
		return w.whileItLives(ctx, r, func(ctx context.Context) (err error) {
			result, err = r.do(ctx)
			return err
		})
	})
	if ctx.Err() == nil {
		return w.conclude(ctx, r, result, err)
	}
	free, done := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer done()
	switch {
	case err == nil:
		return w.conclude(free, r, result, nil)
	case errors.Is(ctx.Err(), context.DeadlineExceeded) && settled(err) != nil:
		return w.fail(free, r, errNoCheckpoint)
	}
	// The process is shutting down: end the lease instead of waiting until it expires.
	_ = r.leave(free, 0, func(*transaction.Transaction) {})
	return ctx.Err()
}

// whileItLives calls do with a heartbeat and its own memory allotment. It returns the heartbeat's
// error if that came first. Most of what a job reads is read once, and it may read files that are not complete.
func (w *Worker) whileItLives(ctx context.Context, r *Run, do func(ctx context.Context) error) error {
	share := w.Memory.Open()
	defer share.Close()
	working, stop := context.WithCancelCause(memory.WithShare(objectstore.Passing(ctx), share))
	beating := make(chan struct{})
	go func() {
		defer close(beating)
		r.beat(working, stop)
	}()
	err := w.contained(working, r, do)
	stop(nil)
	<-beating
	if lost := context.Cause(working); err != nil && lost != nil && !errors.Is(lost, context.Canceled) && !errors.Is(lost, context.DeadlineExceeded) {
		return lost // the heartbeat failed before do did
	}
	return err
}

// contained calls do and turns a panic into an error. Without it, a panic would end the other work of this process, and
// then every process that runs the unit again.
func (w *Worker) contained(ctx context.Context, r *Run, do func(ctx context.Context) error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			w.Logger.ErrorContext(ctx, "panic", "job", r.unit.Job, "stage", r.unit.Stage, "part", r.unit.Part, "cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	return do(ctx)
}

// lastWords bounds the recording of a run's end after its deadline.
const lastWords = 3 * time.Second

// errNoCheckpoint ends a run whose deadline passed before its next checkpoint.
var errNoCheckpoint = protocol.Errorf(protocol.ServiceUnavailable, "the worker's time ran out before the next checkpoint")

// conclude records the result of a run and sends the message for the next run, if there is one.
func (w *Worker) conclude(ctx context.Context, r *Run, result any, err error) error {
	var wait later
	var failed partFailed
	switch {
	case err == nil:
		return w.succeed(ctx, r, result)
	// The parts have messages of their own.
	case errors.Is(err, errParts):
		return settled(r.leave(ctx, 0, func(*transaction.Transaction) {}))
	case errors.As(err, &failed):
		return w.failJob(ctx, failed)
	// Another worker or a user has the unit now.
	case settled(err) == nil:
		return nil
	case errors.Is(err, errHeavy), errors.As(err, &wait):
		if err := r.leave(ctx, wait.after, func(*transaction.Transaction) {}); err != nil {
			return settled(err)
		}
		return w.send(ctx, wait.after, r.message())
	}
	return w.fail(ctx, r, err)
}

// succeed records the result of a unit. After the last part of a stage it sends a message for the job.
func (w *Worker) succeed(ctx context.Context, r *Run, result any) error {
	encoded, err := json.Marshal(result)
	if err != nil {
		return w.fail(ctx, r, err)
	}
	var rows int64
	err = r.leave(ctx, 0, func(t *transaction.Transaction) {
		t.Status, t.Result, t.Failure = transactionapi.Succeeded, encoded, ""
		t.Done = max(t.Done, t.Total)
		t.Work.StagesDone = t.Work.Stages
		rows = t.Rows
	})
	switch {
	case r.unit.Part != 0 && errors.Is(err, transaction.ErrEnded):
		return w.ended(ctx, r.unit) // possibly by this run, if the answer to its write was lost
	case err != nil:
		return settled(err)
	case r.unit.Part != 0:
		return w.arrive(ctx, r.unit, r.job.Work.Parts, rows)
	}
	w.Logger.InfoContext(ctx, "a job is done", "job", r.unit.Job, "kind", r.taken.Kind, "object", r.taken.Object, "result", string(encoded))
	return nil
}

// fail records that a run has failed. It ends the job if a repetition would not help.
func (w *Worker) fail(ctx context.Context, r *Run, cause error) error {
	w.Logger.WarnContext(ctx, "a job has failed", "job", r.unit.Job, "stage", r.unit.Stage, "part", r.unit.Part, "kind", r.taken.Kind, "object", r.taken.Object, "error", cause)
	if format.Newer(cause) {
		// Leave the job to a worker of the newer release, as with an unknown kind.
		return errors.Join(cause, settled(r.leave(ctx, 0, func(t *transaction.Transaction) { t.Work.Trouble = describe(cause) })))
	}
	if w.passesOn() && outgrew(cause) {
		return w.pass(ctx, r, cause)
	}
	if outage.Of(cause) != nil {
		return w.outlast(ctx, r, cause)
	}
	over, failures := false, 0
	end := func(t *transaction.Transaction) {
		t.Work.Failures++
		failures, t.Work.Trouble = t.Work.Failures, describe(cause)
		if over = failures >= maxFailures || isFinal(cause); over {
			t.Status, t.Failure = transactionapi.Failed, t.Work.Trouble
		}
	}
	err := r.leave(ctx, firstRetry<<maxFailures, end)
	switch {
	case over && r.unit.Part != 0 && (err == nil || errors.Is(err, transaction.ErrEnded)):
		return w.ended(ctx, r.unit)
	case err != nil:
		return settled(err)
	case !over:
		return w.send(ctx, firstRetry<<(failures-1), r.message())
	}
	return nil
}

// outlast repeats a run later that failed because a service was unavailable. An outage may last for hours, so the failure
// does not count.
func (w *Worker) outlast(ctx context.Context, r *Run, cause error) error {
	err := r.leave(ctx, outagePause, func(t *transaction.Transaction) { t.Work.Trouble = describe(cause) })
	if err != nil {
		return settled(err)
	}
	return w.send(ctx, outagePause, r.message())
}

// pass leaves a run to a heavy worker because this one has too little time or memory. The failure does not count.
func (w *Worker) pass(ctx context.Context, r *Run, cause error) error {
	err := r.leave(ctx, 0, func(t *transaction.Transaction) { t.Work.Heavy, t.Work.Trouble = true, describe(cause) })
	if err != nil {
		return settled(err)
	}
	m := r.message()
	m.Heavy = true
	return w.send(ctx, 0, m)
}

// isFinal reports whether the next run would get the same error. A Busy memory error is not final,
// even if a protocol error wraps it, because other work frees memory; an error about the limit of a
// single run is final.
func isFinal(err error) bool {
	if refused := (*memory.Error)(nil); errors.As(err, &refused) {
		return !refused.Busy
	}
	var known *protocol.Error
	return errors.As(err, &known) && known.Code != protocol.ServiceUnavailable && known.Code != protocol.ConcurrentModification && known.Code != protocol.Internal
}

// describe returns the text of a failure for users. The text of an error without a code may reveal
// internals, so it becomes "internal error".
func describe(err error) string {
	if refused := (*memory.Error)(nil); errors.As(err, &refused) {
		return refused.Error()
	}
	if trouble := outage.Of(err); trouble != nil {
		return trouble.Message
	}
	var known *protocol.Error
	if errors.As(err, &known) {
		return known.Text()
	}
	return "internal error"
}
