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
	Memory *memory.Budget  // bounds the memory of all runs; nil: no bound
	Light  bool            // passes heavy work on if there is a queue for it
	Traces *tracing.Tracer // nil: no traces

	// suspect is locked by a run of a unit whose earlier run has ended together with its process.
	suspect sync.Mutex
}

const (
	// leaseTime is how long a worker owns a unit without a heartbeat.
	leaseTime = 90 * time.Second
	// holdTime is how long a worker keeps a message from others without a heartbeat. It is longer than
	// leaseTime, so that the unit is free when the message of a dead worker is delivered again.
	holdTime = 2 * time.Minute
	// heartbeat is the interval between two heartbeats.
	heartbeat = leaseTime / 4
	// maxFailures bounds the failed runs of a unit without a checkpoint between them.
	maxFailures = 5
	// firstRetry is the delay between a first failure and the next run. Each further failure
	// doubles it.
	firstRetry = 5 * time.Second
	// outagePause is the delay of the next run after a run failed because of an outage of another
	// service.
	outagePause = time.Minute
	// suspectPause is the delay of a suspect while the process runs another one.
	suspectPause = 15 * time.Second
	// yieldMargin is the time before its deadline by which a run has to end.
	yieldMargin = 20 * time.Second
)

// Serve receives messages and processes them, as many at a time as there are workers, until the
// context ends.
func (w *Worker) Serve(ctx context.Context, workers int) { w.ServeFrom(ctx, w.Queue, workers) }

// ServeFrom receives and processes the messages of one queue with a number of goroutines, until ctx
// ends.
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

// receivePause is the wait after an error of the queue.
const receivePause = time.Second

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

// DoHeld processes a message of a queue. It extends the hold of two minutes while the work continues, so that the message
// is delivered again soon after the worker has died.
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
	defer func() {
		release()
		<-extending
	}()
	return w.Do(ctx, d.Message)
}

// Do processes a message. When the error is nil, the message is done, although the job may not be;
// else the message must be delivered again.
func (w *Worker) Do(ctx context.Context, m Message) error {
	// On a full disk, jobs that free space must be taken up.
	ctx, span := w.Traces.Message(objectstore.Freeing(ctx), m.Trace, m.work())
	defer span.End()
	err := w.do(ctx, m)
	if err != nil {
		span.Fail(wordOf(err))
	}
	return err
}

func (w *Worker) do(ctx context.Context, m Message) error {
	if m.Job == "" {
		return w.look(ctx, m)
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
		// Another worker has the unit. If that worker dies, this message may be the only one, so it
		// comes back later.
		return w.send(ctx, w.untilFree(m, r.taken), m)
	case err != nil:
		// The write may have succeeded, so free the unit instead of waiting for the lease to run
		// out.
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

// untilFree returns the time until a held unit may be taken over. That is soon while messages for
// parts are being sent, because the last part may end before that is complete.
func (w *Worker) untilFree(m Message, held *transaction.Transaction) time.Duration {
	if m.Part == 0 && held.Work.Parts > 0 {
		return 2 * time.Second
	}
	return held.Work.Until.Sub(w.Now()) + time.Second
}

// look processes a message without a job: a look, which begins a job if there is something to do,
// or a scheduled message that resends lost ones.
func (w *Worker) look(ctx context.Context, m Message) error {
	switch m.Kind {
	case ReviveKind:
		_, err := w.revive(ctx, w.Now().Add(-reviveRecent))
		return err
	case ReviveAllKind:
		_, err := w.ReviveAll(ctx)
		return err
	}
	want, err := w.wanted(ctx, m)
	if want == nil || err != nil {
		return err
	}
	aside, err := w.Transactions.IsAside(ctx, m.Kind, m.Object, want.Mark)
	if aside || err != nil {
		return err
	}
	_, err = w.begin(ctx, m.Kind, m.Object, *want)
	return err
}

// ended performs the steps that follow the end of a unit. The worker that ended it may have died
// before it could.
func (w *Worker) ended(ctx context.Context, unit transaction.Unit) error {
	job, err := w.Transactions.Job(ctx, unit.Whole())
	switch {
	case protocol.CodeOf(err) == protocol.TransactionNotFound:
		return nil
	case err != nil:
		return err
	case job.Status.Ended():
		return w.noteAside(ctx, job)
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

// noteAside prevents that a worker begins the same work again after a job was set aside.
func (w *Worker) noteAside(ctx context.Context, job *transaction.Transaction) error {
	if job.Work == nil || !job.Work.Aside {
		return nil
	}
	w.Logger.ErrorContext(ctx, "a job is set aside", "job", job.ID, "kind", job.Kind, "object", job.Object, "failure", job.Failure)
	if job.Work.Mark == "" {
		return nil
	}
	return w.Transactions.SetAside(ctx, job)
}

// failJob ends a job with a part that has failed.
func (w *Worker) failJob(ctx context.Context, p partFailed) error {
	ended, err := w.Transactions.Advance(ctx, p.unit.Whole(), func(t *transaction.Transaction) {
		t.Status, t.Failure = transactionapi.Failed, p.Error()
		t.Work.Aside = p.part.Work.Aside
	})
	if err != nil {
		return settled(err)
	}
	return w.noteAside(ctx, ended)
}

// arrive continues the job when the part that has ended was the last.
func (w *Worker) arrive(ctx context.Context, unit transaction.Unit, parts int, rows int64) error {
	last, err := w.Transactions.Arrive(ctx, unit, parts, rows)
	if err != nil || !last {
		return err
	}
	return w.send(ctx, 0, Message{Job: unit.Job})
}

// Bury ends the unit of a message that the queue has given up after too many deliveries: the job is
// set aside.
func (w *Worker) Bury(ctx context.Context, m Message) error {
	if m.Job == "" {
		w.Logger.ErrorContext(ctx, "a look was set aside because no worker could process its message", "kind", m.Kind, "object", m.Object)
		return nil
	}
	unit := m.unit()
	_, err := w.Transactions.GiveUp(ctx, unit, "the message for "+unit.String()+" was delivered again and again, and no worker could process it")
	switch {
	case errors.Is(err, transaction.ErrHeld):
		return w.send(ctx, leaseTime, m) // another message got through
	case protocol.CodeOf(err) == protocol.TransactionNotFound:
		return nil
	case err != nil && !errors.Is(err, transaction.ErrEnded):
		return err
	}
	return w.ended(ctx, unit)
}

// settled turns errors into nil which mean that another worker has the unit, or that the job has
// ended.
func settled(err error) error {
	if errors.Is(err, transaction.ErrEnded) || errors.Is(err, transaction.ErrPaused) || errors.Is(err, transaction.ErrHeld) {
		return nil
	}
	return err
}

// run calls a task under a heartbeat, and records the result.
func (w *Worker) run(ctx context.Context, r *Run) error {
	var result any
	err := w.whileItLives(ctx, r, func(ctx context.Context) (err error) {
		result, err = r.do(ctx)
		return err
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
	// The process is shutting down: free the unit instead of waiting for the lease to run out.
	_ = r.leave(free, 0, func(*transaction.Transaction) {})
	return ctx.Err()
}

// whileItLives calls do with a heartbeat and an allotment of memory.
func (w *Worker) whileItLives(ctx context.Context, r *Run, do func(ctx context.Context) error) error {
	share := w.Memory.Open()
	defer share.Close()
	working, stop := context.WithCancelCause(memory.WithShare(ctx, share))
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

// contained calls do, and returns a panic as an error. Without it, a panic would end the other work of this process, and
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

// lastWords is the time limit for recording the end of a run after its deadline.
const lastWords = 3 * time.Second

// errNoCheckpoint is the error of a run whose deadline passed before its next checkpoint.
var errNoCheckpoint = protocol.Errorf(protocol.ServiceUnavailable, "the worker's time ran out before the next checkpoint")

// conclude records the result of a run, and sends the message for the next run if there is one.
func (w *Worker) conclude(ctx context.Context, r *Run, result any, err error) error {
	var wait later
	var failed partFailed
	switch {
	case err == nil:
		return w.succeed(ctx, r, result)
	case errors.Is(err, errParts):
		return settled(r.leave(ctx, 0, func(*transaction.Transaction) {}))
	case errors.As(err, &failed):
		return w.failJob(ctx, failed)
	case settled(err) == nil:
		return nil
	case errors.Is(err, errYield), errors.Is(err, errHeavy), errors.As(err, &wait):
		if err := r.leave(ctx, wait.after, func(*transaction.Transaction) {}); err != nil {
			return settled(err)
		}
		return w.send(ctx, wait.after, r.message())
	}
	return w.fail(ctx, r, err)
}

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
		return w.ended(ctx, r.unit) // possibly by our own write, whose answer was lost
	case err != nil:
		return settled(err)
	case r.unit.Part != 0:
		return w.arrive(ctx, r.unit, r.job.Work.Parts, rows)
	}
	w.Logger.InfoContext(ctx, "a job is done", "job", r.unit.Job, "kind", r.taken.Kind, "object", r.taken.Object, "result", string(encoded))
	return nil
}

// fail records that a run has failed. It ends the job when a repetition would not help.
func (w *Worker) fail(ctx context.Context, r *Run, cause error) error {
	w.Logger.WarnContext(ctx, "a job has failed", "job", r.unit.Job, "stage", r.unit.Stage, "part", r.unit.Part, "kind", r.taken.Kind, "object", r.taken.Object, "error", cause)
	if format.Newer(cause) {
		// A worker of that release will do it: as for a kind that this worker does not run.
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

// outlast has a run repeated later that failed because a service was in trouble. It may be in trouble for hours, and
// the failure does not count.
func (w *Worker) outlast(ctx context.Context, r *Run, cause error) error {
	err := r.leave(ctx, outagePause, func(t *transaction.Transaction) { t.Work.Trouble = describe(cause) })
	if err != nil {
		return settled(err)
	}
	return w.send(ctx, outagePause, r.message())
}

// pass has a worker of heavy work repeat a run that failed because this worker has too little time or memory. The
// failure does not count.
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
// whatever it is wrapped in, because the memory becomes free; one about the limit of a single run
// is final.
func isFinal(err error) bool {
	if refused := (*memory.Error)(nil); errors.As(err, &refused) {
		return !refused.Busy
	}
	var known *protocol.Error
	return errors.As(err, &known) && known.Code != protocol.ServiceUnavailable && known.Code != protocol.ConcurrentModification && known.Code != protocol.Internal
}

// describe returns the text of a failure for users. An error without a code becomes "internal
// error", because its text may contain internals.
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
