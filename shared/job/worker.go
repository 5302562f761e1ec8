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

// A Task is what jobs of one kind do.
type Task struct {
	// Run does the work, or what is left of it, and returns the job's result, to be told as
	// JSON. An error of the protocol ends the job, but for [protocol.ServiceUnavailable] and
	// [protocol.ConcurrentModification]; after any other it is run again, some times.
	Run func(ctx context.Context, r *Run) (result any, err error)
	// Part does one part of a job that was split, and is else as Run. It may be nil.
	Part func(ctx context.Context, r *Run, part int) (result any, err error)
	// Wanted says whether there is something to do for an object, and what to begin a job
	// with. It may be nil: then nobody can ask.
	Wanted func(ctx context.Context, object []string) (input any, wanted bool, err error)
}

// A Worker goes on with jobs. It is safe for concurrent use.
type Worker struct {
	Starter
	Tasks  map[string]Task // by kind
	Name   func() string   // a name for each run, that nobody else has
	Now    func() time.Time
	Logger *slog.Logger
	Memory *memory.Budget // of which each run takes its share; nil: runs hold what they like
}

const (
	// leaseTime is for how long a worker holds a share without saying that it lives.
	leaseTime = 90 * time.Second
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
	d, err := w.Queue.Receive(ctx, leaseTime)
	if err != nil {
		if ctx.Err() == nil {
			w.Logger.Warn("no message of a job could be received", "error", err)
			sleep(ctx, receivePause)
		}
		return
	}
	held, release := context.WithCancel(ctx)
	extending := make(chan struct{})
	go func() {
		defer close(extending)
		for sleep(held, heartbeat) {
			if err := w.Queue.Extend(held, d, leaseTime); err != nil && held.Err() == nil {
				w.Logger.Warn("a message of a job may come twice", "error", err)
			}
		}
	}()
	err = w.Do(ctx, d.Message)
	release()
	<-extending
	if err == nil {
		err = w.Queue.Done(ctx, d)
	}
	if err != nil && ctx.Err() == nil {
		w.Logger.Warn("a message of a job will come again", "job", d.Job, "kind", d.Kind, "error", err)
	}
}

// Do does what a message asks for. When the error is nil the message is done with, though the
// job need not be; else it must come again.
func (w *Worker) Do(ctx context.Context, m Message) error {
	if m.Job == "" {
		return w.look(ctx, m)
	}
	share := transaction.Share{Job: m.Job, Part: m.Part}
	name := w.Name()
	taken, err := w.Transactions.Take(ctx, share, name, leaseTime)
	switch {
	case errors.Is(err, transaction.ErrEnded), errors.Is(err, transaction.ErrPaused), protocol.CodeOf(err) == protocol.TransactionNotFound:
		return w.ended(ctx, share)
	case errors.Is(err, transaction.ErrHeld):
		// It is being worked on. Should that worker die, its message may have been this one.
		return w.send(ctx, m, taken.Work.Until.Sub(w.Now())+time.Second)
	case err != nil:
		return err
	}
	if m.Part == 0 && len(taken.Work.Parts) > 0 && !taken.Work.Joined() {
		// Its parts have yet to end. Who was to send for them may have died.
		if _, err := w.Transactions.Leave(ctx, share, name, func(*transaction.Transaction) {}); err != nil {
			return settled(err)
		}
		return w.sendParts(ctx, m.Job, taken.Work.Parts)
	}
	task, known := w.Tasks[taken.Kind]
	if !known {
		return fmt.Errorf("job %s is of kind %q, which nobody here does", m.Job, taken.Kind)
	}
	return w.run(ctx, task, &Run{worker: w, share: share, name: name, taken: taken})
}

// look begins a job when it has something to do.
func (w *Worker) look(ctx context.Context, m Message) error {
	task := w.Tasks[m.Kind]
	if task.Wanted == nil {
		return fmt.Errorf("nobody here can tell whether there is a job %q to do", m.Kind)
	}
	input, wanted, err := task.Wanted(ctx, m.Object)
	if err != nil {
		// It was an idea; there will be others.
		w.Logger.Warn("nobody knows whether there is a job to do", "kind", m.Kind, "object", m.Object, "error", err)
		return ctx.Err()
	}
	if !wanted {
		return nil
	}
	_, err = w.Begin(ctx, m.Kind, m.Object, input)
	return err
}

// ended makes sure that who waits for a part that has ended is told.
func (w *Worker) ended(ctx context.Context, share transaction.Share) error {
	if share.Part == 0 {
		return nil
	}
	part, err := w.Transactions.Part(ctx, share)
	if err != nil || part == nil || part.Status != protocol.TransactionSucceeded {
		return err
	}
	return w.endPart(ctx, share)
}

// endPart notes that a part has ended, and lets the job go on when it was the last.
func (w *Worker) endPart(ctx context.Context, share transaction.Share) error {
	whole, err := w.Transactions.EndPart(ctx, share)
	if err != nil {
		return settled(err)
	}
	if whole.Work.Joined() {
		return w.send(ctx, Message{Job: share.Job}, 0)
	}
	return nil
}

func (w *Worker) sendParts(ctx context.Context, job string, parts []bool) error {
	for i, ended := range parts {
		if !ended {
			if err := w.send(ctx, Message{Job: job, Part: i + 1}, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// settled is nil for errors that say that somebody else has the job now, or that it is over.
func settled(err error) error {
	if errors.Is(err, transaction.ErrEnded) || errors.Is(err, transaction.ErrPaused) || errors.Is(err, transaction.ErrHeld) {
		return nil
	}
	return err
}

// run runs a task while it says that it lives, and notes how that ended.
func (w *Worker) run(ctx context.Context, task Task, r *Run) error {
	share := w.Memory.Open()
	defer share.Close()
	working, stop := context.WithCancelCause(memory.WithShare(ctx, share))
	beating := make(chan struct{})
	go func() {
		defer close(beating)
		r.beat(working, stop)
	}()
	result, err := r.call(working, task)
	stop(nil)
	<-beating
	if lost := context.Cause(working); err != nil && lost != nil && !errors.Is(lost, context.Canceled) {
		err = lost // the heart knew first
	}
	if ctx.Err() != nil {
		// The process ends. Nobody needs to wait for the lease to run out.
		free, done := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer done()
		_, _ = w.Transactions.Leave(free, r.share, r.name, func(*transaction.Transaction) {})
		return ctx.Err()
	}
	return w.conclude(ctx, r, result, err)
}

// conclude notes how a run has ended, and sends for the next one if there is to be one.
func (w *Worker) conclude(ctx context.Context, r *Run, result any, err error) error {
	var wait later
	switch {
	case err == nil:
		return w.succeed(ctx, r, result)
	case errors.Is(err, errSplit):
		return w.sendParts(ctx, r.share.Job, make([]bool, r.parts))
	case settled(err) == nil:
		return nil
	case errors.Is(err, errYield), errors.As(err, &wait):
		if _, err := w.Transactions.Leave(ctx, r.share, r.name, func(*transaction.Transaction) {}); err != nil {
			return settled(err)
		}
		return w.send(ctx, r.message(), wait.after)
	}
	return w.fail(ctx, r, err)
}

func (w *Worker) succeed(ctx context.Context, r *Run, result any) error {
	encoded, err := json.Marshal(result)
	if err != nil {
		return w.fail(ctx, r, err)
	}
	_, err = w.Transactions.Leave(ctx, r.share, r.name, func(t *transaction.Transaction) {
		t.Status, t.Result, t.Failure = protocol.TransactionSucceeded, encoded, ""
		t.Done = max(t.Done, t.Total)
	})
	if err != nil {
		return settled(err)
	}
	if r.share.Part != 0 {
		return w.endPart(ctx, r.share)
	}
	w.Logger.Info("a job is done", "job", r.share.Job, "kind", r.taken.Kind, "object", r.taken.Object, "result", string(encoded))
	return nil
}

// fail notes that a run has failed. The job ends when that is hopeless.
func (w *Worker) fail(ctx context.Context, r *Run, cause error) error {
	w.Logger.Warn("a job has failed", "job", r.share.Job, "part", r.share.Part, "kind", r.taken.Kind, "object", r.taken.Object, "error", cause)
	over, failures := false, 0
	end := func(t *transaction.Transaction) {
		t.Work.Failures++
		failures = t.Work.Failures
		if over = failures >= maxFailures || isFinal(cause); over {
			t.Status, t.Failure = protocol.TransactionFailed, describe(cause)
		}
	}
	if _, err := w.Transactions.Leave(ctx, r.share, r.name, end); err != nil {
		return settled(err)
	}
	if !over {
		return w.send(ctx, r.message(), firstRetry<<(failures-1))
	}
	if r.share.Part == 0 {
		return nil
	}
	_, err := w.Transactions.Advance(ctx, r.share.Job, func(t *transaction.Transaction) {
		t.Status, t.Failure = protocol.TransactionFailed, fmt.Sprintf("part %d: %s", r.share.Part, describe(cause))
	})
	return settled(err)
}

// isFinal says whether an error will be the same next time.
func isFinal(err error) bool {
	var known *protocol.Error
	return errors.As(err, &known) && known.Code != protocol.ServiceUnavailable && known.Code != protocol.ConcurrentModification && known.Code != protocol.Internal
}

// describe is what users are told of a failure: what has no code may tell of the house.
func describe(err error) string {
	var known *protocol.Error
	if errors.As(err, &known) {
		return known.Text()
	}
	return "internal error"
}

// Recover sends for all jobs that have not ended, of the kinds that are done here: messages of
// the memory queue end with the process. It returns how many there are.
func (w *Worker) Recover(ctx context.Context) (jobs int, err error) {
	const page = 100
	for after := ""; ; {
		found, next, err := w.Transactions.Jobs(ctx, after, page)
		if err != nil {
			return jobs, err
		}
		for _, t := range found {
			if _, ours := w.Tasks[t.Kind]; !ours || t.Work == nil || t.Status.Ended() || t.Work.Paused {
				continue
			}
			if err := w.send(ctx, Message{Job: t.ID}, 0); err != nil {
				return jobs, err
			}
			jobs++
		}
		if after = next; next == "" {
			return jobs, nil
		}
	}
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
