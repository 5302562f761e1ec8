package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"tiltyard/shared/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/transaction"
)

// A Worker goes on with jobs. It is safe for concurrent use.
type Worker struct {
	Starter
	Kinds  map[string]Kind // by name
	Name   func() string   // a name for each run, that nobody else has
	Now    func() time.Time
	Logger *slog.Logger
	Memory *memory.Budget // of which each run takes its share; nil: runs hold what they like
}

const (
	// leaseTime is for how long a worker holds a share without saying that it lives.
	leaseTime = 90 * time.Second
	// holdTime is for how long it holds a message so. It is longer: when the message of a
	// worker that died comes again, the share is free.
	holdTime = 2 * time.Minute
	// heartbeat is how often it does.
	heartbeat = leaseTime / 4
	// maxFailures is how many runs of a job may fail without a checkpoint between them.
	maxFailures = 5
	// firstRetry is how long after a failure the next run begins; it doubles.
	firstRetry = 5 * time.Second
	// yieldMargin is how long before its deadline a run is to end.
	yieldMargin = 20 * time.Second
)

// Serve receives messages and works on them, on so many shares at a time, until the
// context ends.
func (w *Worker) Serve(ctx context.Context, workers int) {
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for ctx.Err() == nil {
				w.serveOne(ctx)
			}
		})
	}
	group.Wait()
}

// receivePause is how long a queue that fails is left alone.
const receivePause = time.Second

func (w *Worker) serveOne(ctx context.Context) {
	d, err := w.Queue.Receive(ctx, holdTime)
	if err != nil {
		if ctx.Err() == nil {
			w.Logger.Warn("no message of a job could be received", "error", err)
			sleep(ctx, receivePause)
		}
		return
	}
	if err = w.DoHeld(ctx, d); err == nil {
		err = w.Queue.Done(ctx, d)
	}
	if err != nil && ctx.Err() == nil {
		w.Logger.Warn("a message of a job will come again", "job", d.Job, "kind", d.Kind, "error", err)
	}
}

// DoHeld is [Worker.Do] of a message that was received. It is held for two minutes from now on,
// and for longer while there is work: so it comes again soon after the worker has died.
func (w *Worker) DoHeld(ctx context.Context, d Delivery) error {
	held, release := context.WithCancel(ctx)
	extending := make(chan struct{})
	go func() {
		defer close(extending)
		for {
			if err := w.Queue.Extend(held, d, holdTime); err != nil && held.Err() == nil {
				w.Logger.Warn("a message of a job may come twice", "error", err)
			}
			if !sleep(held, heartbeat) {
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

// Do does what a message asks for. When the error is nil the message is done with, though the
// job need not be; else it must come again.
func (w *Worker) Do(ctx context.Context, m Message) error {
	if m.Job == "" {
		return w.look(ctx, m)
	}
	share := transaction.Share{Job: m.Job, Stage: m.Stage, Part: m.Part}
	r := &Run{worker: w, share: share, name: w.Name()}
	var err error
	r.taken, r.job, err = w.Transactions.Take(ctx, share, r.name, leaseTime)
	switch {
	case errors.Is(err, transaction.ErrEnded):
		return w.ended(ctx, share)
	case errors.Is(err, transaction.ErrPaused), protocol.CodeOf(err) == protocol.TransactionNotFound:
		return nil
	case errors.Is(err, transaction.ErrHeld):
		// It is being worked on. Should that worker die, its message may have been this one.
		return w.send(ctx, w.untilFree(m, r.taken), m)
	case err != nil:
		// It may be ours nevertheless. Nobody needs to wait for the lease to run out.
		return errors.Join(err, settled(r.leave(ctx, 0, func(*transaction.Transaction) {})))
	}
	known := false
	if r.kind, known = w.Kinds[r.taken.Kind]; !known {
		err := fmt.Errorf("job %s is of kind %q, which nobody here does", m.Job, r.taken.Kind)
		return errors.Join(err, settled(r.leave(ctx, 0, func(*transaction.Transaction) {})))
	}
	return w.run(ctx, r)
}

// untilFree is how long it takes until a share that is held may be taken over. While parts are
// being sent for, that is soon: the last of them may have ended before.
func (w *Worker) untilFree(m Message, held *transaction.Transaction) time.Duration {
	if m.Part == 0 && held.Work.Parts > 0 {
		return 2 * time.Second
	}
	return held.Work.Until.Sub(w.Now()) + time.Second
}

// look begins a job when it has something to do. A clock that asks for no object has jobs
// revived, too.
func (w *Worker) look(ctx context.Context, m Message) error {
	if len(m.Object) == 0 {
		if _, err := w.ReviveAll(ctx); err != nil {
			return err
		}
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

// ended makes sure that what has to follow the end of a share has. The worker that ended it may
// have died since.
func (w *Worker) ended(ctx context.Context, share transaction.Share) error {
	job, err := w.Transactions.Job(ctx, share.Job)
	switch {
	case protocol.CodeOf(err) == protocol.TransactionNotFound:
		return nil
	case err != nil:
		return err
	case job.Status.Ended():
		return w.noteAside(ctx, job)
	case share.Part == 0 || job.Work == nil || job.Work.Stage != share.Stage:
		return nil
	}
	part, err := w.Transactions.Part(ctx, share)
	switch {
	case err != nil || part == nil:
		return err
	case part.Status == protocol.TransactionSucceeded:
		return w.arrive(ctx, share, job.Work.Parts, part.Rows)
	case part.Status.Ended():
		return w.failJob(ctx, partFailed{share, part})
	}
	return nil
}

// noteAside lets nobody begin the like of a job that was set aside.
func (w *Worker) noteAside(ctx context.Context, job *transaction.Transaction) error {
	if job.Work == nil || !job.Work.Aside {
		return nil
	}
	w.Logger.Error("a job is set aside", "job", job.ID, "kind", job.Kind, "object", job.Object, "failure", job.Failure)
	if job.Work.Mark == "" {
		return nil
	}
	return w.Transactions.SetAside(ctx, job)
}

// failJob ends a job of which a part has failed.
func (w *Worker) failJob(ctx context.Context, p partFailed) error {
	ended, err := w.Transactions.Advance(ctx, p.share.Job, func(t *transaction.Transaction) {
		t.Status, t.Failure = protocol.TransactionFailed, p.Error()
		t.Work.Aside = p.part.Work.Aside
	})
	if err != nil {
		return settled(err)
	}
	return w.noteAside(ctx, ended)
}

// arrive lets the job go on when a part that has ended was the last.
func (w *Worker) arrive(ctx context.Context, share transaction.Share, parts int, rows int64) error {
	last, err := w.Transactions.Arrive(ctx, share, parts, rows)
	if err != nil || !last {
		return err
	}
	return w.send(ctx, 0, Message{Job: share.Job})
}

// Bury ends the share of a message that the queue has given up, as it came again and again and
// no worker could do anything with it: the job is set aside.
func (w *Worker) Bury(ctx context.Context, m Message) error {
	if m.Job == "" {
		w.Logger.Error("nobody could tell whether there is a job to do", "kind", m.Kind, "object", m.Object)
		return nil
	}
	share := transaction.Share{Job: m.Job, Stage: m.Stage, Part: m.Part}
	_, err := w.Transactions.GiveUp(ctx, share, "the message for "+share.String()+" came again and again and no worker could do anything with it")
	switch {
	case errors.Is(err, transaction.ErrHeld):
		return w.send(ctx, leaseTime, m) // it was another message that got through
	case protocol.CodeOf(err) == protocol.TransactionNotFound:
		return nil
	case err != nil && !errors.Is(err, transaction.ErrEnded):
		return err
	}
	return w.ended(ctx, share)
}

// settled is nil for errors that say that somebody else has the job now, or that it is over.
func settled(err error) error {
	if errors.Is(err, transaction.ErrEnded) || errors.Is(err, transaction.ErrPaused) || errors.Is(err, transaction.ErrHeld) {
		return nil
	}
	return err
}

// run runs a task while it says that it lives, and notes how that ended.
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
	// The process ends. Nobody needs to wait for the lease to run out.
	_ = r.leave(free, 0, func(*transaction.Transaction) {})
	return ctx.Err()
}

// whileItLives does work in a share of the memory, and says meanwhile that the worker lives.
func (w *Worker) whileItLives(ctx context.Context, r *Run, do func(ctx context.Context) error) error {
	share := w.Memory.Open()
	defer share.Close()
	working, stop := context.WithCancelCause(memory.WithShare(ctx, share))
	beating := make(chan struct{})
	go func() {
		defer close(beating)
		r.beat(working, stop)
	}()
	err := do(working)
	stop(nil)
	<-beating
	if lost := context.Cause(working); err != nil && lost != nil && !errors.Is(lost, context.Canceled) && !errors.Is(lost, context.DeadlineExceeded) {
		return lost // the heart knew first
	}
	return err
}

// lastWords is how long it may take to say that a run has ended when its time is over.
const lastWords = 3 * time.Second

// errNoCheckpoint is the error of a run that did not hand over in its time.
var errNoCheckpoint = protocol.Errorf(protocol.ServiceUnavailable, "the time of a worker was over before the next checkpoint")

// conclude notes how a run has ended, and sends for the next one if there is to be one.
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
	case errors.Is(err, errYield), errors.As(err, &wait):
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
		t.Status, t.Result, t.Failure = protocol.TransactionSucceeded, encoded, ""
		t.Done = max(t.Done, t.Total)
		t.Work.StagesDone = t.Work.Stages
		rows = t.Rows
	})
	switch {
	case r.share.Part != 0 && errors.Is(err, transaction.ErrEnded):
		return w.ended(ctx, r.share) // also by our own write, whose answer was lost
	case err != nil:
		return settled(err)
	case r.share.Part != 0:
		return w.arrive(ctx, r.share, r.job.Work.Parts, rows)
	}
	w.Logger.Info("a job is done", "job", r.share.Job, "kind", r.taken.Kind, "object", r.taken.Object, "result", string(encoded))
	return nil
}

// fail notes that a run has failed. The job ends when that is hopeless.
func (w *Worker) fail(ctx context.Context, r *Run, cause error) error {
	w.Logger.Warn("a job has failed", "job", r.share.Job, "stage", r.share.Stage, "part", r.share.Part, "kind", r.taken.Kind, "object", r.taken.Object, "error", cause)
	over, failures := false, 0
	end := func(t *transaction.Transaction) {
		t.Work.Failures++
		failures = t.Work.Failures
		if over = failures >= maxFailures || isFinal(cause); over {
			t.Status, t.Failure = protocol.TransactionFailed, describe(cause)
		}
	}
	err := r.leave(ctx, firstRetry<<maxFailures, end)
	switch {
	case over && r.share.Part != 0 && (err == nil || errors.Is(err, transaction.ErrEnded)):
		return w.ended(ctx, r.share)
	case err != nil:
		return settled(err)
	case !over:
		return w.send(ctx, firstRetry<<(failures-1), r.message())
	}
	return nil
}

// isFinal says whether an error will be the same next time. Memory that others hold comes free,
// whatever the error was wrapped as; what one run may not hold it never may.
func isFinal(err error) bool {
	if refused := (*memory.Error)(nil); errors.As(err, &refused) {
		return !refused.Busy
	}
	var known *protocol.Error
	return errors.As(err, &known) && known.Code != protocol.ServiceUnavailable && known.Code != protocol.ConcurrentModification && known.Code != protocol.Internal
}

// describe is what users are told of a failure: what has no code may tell of the house.
func describe(err error) string {
	if refused := (*memory.Error)(nil); errors.As(err, &refused) {
		return refused.Error()
	}
	var known *protocol.Error
	if errors.As(err, &known) {
		return known.Text()
	}
	return "internal error"
}

// sleep waits, and says whether the context lives on.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
