// Package job does long work: what takes longer than the request that asks for it may. The
// request makes the record of a job (package transaction) and sends a [Message]; a [Worker]
// gets the message and goes on with the job by the [Task] of its kind.
//
// Messages carry nothing but a name, arrive at least once, in any order, and are lost by
// nobody but the memory queue, which is told again by [Worker.Recover]. The record is what
// counts. It says who holds the job and until when, so that one worker at a time goes on
// with it, as a rule: a task must bear to run twice, also at the same time, and to be
// killed anywhere.
//
// A task tells how far it has come at checkpoints ([Run.Checkpoint]). There it learns that
// it has to stop: the job was ended or paused by a user, somebody else has taken it over, or
// there is no time left to go on, as in a function. It returns then, and goes on from the
// checkpoint when the job's next message comes. Work that is too large for one worker is
// split into parts ([Run.Split]), of which each is a share with a message, a lease and
// checkpoints of its own; who ends the last of them sends for the job itself, which puts
// together what they have done.
//
// A message may also name no job, but what might be worth doing (see [Task.Wanted]).
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

// A Message asks a worker to go on with a job, or with a part of it. One without a job asks
// whether a job of the kind has something to do for the object, and to begin it.
type Message struct {
	Job    string   `json:"job,omitempty"`
	Part   int      `json:"part,omitempty"` // from 1; 0 is the job itself
	Kind   string   `json:"kind,omitempty"`
	Object []string `json:"object,omitempty"`
}

// Parse reads a message as a queue carries it, in JSON.
func Parse(text []byte) (Message, error) {
	var m Message
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("message of a job: %w", err)
	}
	if m.Job == "" && m.Kind == "" || m.Job != "" && !transaction.IsJobID(m.Job) || m.Part < 0 || m.Part > transaction.MaxParts {
		return m, fmt.Errorf("message of a job: %.200q names none", text)
	}
	return m, nil
}

// A Queue carries messages. memqueue and sqsqueue implement it; queuetest holds the contract.
// It is safe for concurrent use.
type Queue interface {
	// Send lets the message be received, not before some time, which is no more than
	// [MaxDelay]. When it returns nil it will be, until somebody says that it is done.
	Send(ctx context.Context, m Message, after time.Duration) error
	// Receive waits for a message, or for the end of the context, whose error it returns. For
	// so long as hold nobody else receives the message; then it comes again.
	Receive(ctx context.Context, hold time.Duration) (Delivery, error)
	// Extend holds what was received for so long from now on.
	Extend(ctx context.Context, d Delivery, hold time.Duration) error
	// Done lets what was received not come again.
	Done(ctx context.Context, d Delivery) error
}

// MaxDelay is how long a message can be held back; SQS has no more.
const MaxDelay = 15 * time.Minute

// A Delivery is a message that was received.
type Delivery struct {
	Message
	Receipt string // of this delivery; the queue's own
}

// A Starter begins jobs. A program without a queue has none of them.
type Starter struct {
	Transactions *transaction.Store
	Queue        Queue
}

// NewStarter returns what begins jobs, nil when there is no queue for them.
func NewStarter(transactions *transaction.Store, queue Queue) *Starter {
	if queue == nil {
		return nil
	}
	return &Starter{Transactions: transactions, Queue: queue}
}

// Begin makes the record of a job and lets a worker go on with it. When the error is not nil
// there may be the record of a job that nobody works on: it is queued until it is recovered.
func (s Starter) Begin(ctx context.Context, kind string, object []string, input any) (*transaction.Transaction, error) {
	encoded, err := json.Marshal(input)
	if err != nil {
		return nil, fmt.Errorf("begin job %s: %w", kind, err)
	}
	t, err := s.Transactions.BeginWork(ctx, kind, object, encoded)
	if err != nil {
		return nil, err
	}
	return t, s.send(ctx, Message{Job: t.ID}, 0)
}

// Suggest asks a worker to look, after some time, whether a job of the kind has something to
// do for an object.
func (s Starter) Suggest(ctx context.Context, kind string, object []string, after time.Duration) error {
	return s.send(ctx, Message{Kind: kind, Object: object}, after)
}

// Pause lets nobody work on a job from its next checkpoint on; see [transaction.Store.Pause].
func (s Starter) Pause(ctx context.Context, id string) (before bool, err error) {
	return s.Transactions.Pause(ctx, id)
}

// Resume lets a job go on that was paused. It says whether it was, and whether a worker has
// yet to notice that: then the job just goes on.
func (s Starter) Resume(ctx context.Context, id string, now time.Time) (paused, pausing bool, err error) {
	was, err := s.Transactions.Resume(ctx, id)
	if err != nil || !was.Work.Paused {
		return false, false, err
	}
	// The parts too: what is done already says so when it is asked.
	messages := []Message{{Job: id}}
	for i, ended := range was.Work.Parts {
		if !ended {
			messages = append(messages, Message{Job: id, Part: i + 1})
		}
	}
	for _, m := range messages {
		if err := s.send(ctx, m, 0); err != nil {
			return true, false, err
		}
	}
	return true, was.Work.Held(now), nil
}

func (s Starter) send(ctx context.Context, m Message, after time.Duration) error {
	err := s.Queue.Send(ctx, m, min(max(after, 0), MaxDelay))
	if err == nil || ctx.Err() != nil {
		return err
	}
	return &protocol.Error{
		Code: protocol.ServiceUnavailable, Message: "the queue of jobs did not take a message",
		Detail: "the job is on record, and goes on when it is resumed or recovered", Unsettled: true, Err: err,
	}
}

// errYield says that a run has no time left and goes on in another.
var errYield = errors.New("no time left for the job")

// later says that a run goes on some time later.
type later struct{ after time.Duration }

func (l later) Error() string { return "the job goes on after " + l.after.String() }

// Later is the error with which a task asks to be run again after some time, from its last
// checkpoint on.
func Later(after time.Duration) error { return later{after} }
