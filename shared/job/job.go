// Package job does long work: what takes longer than the request that asks for it may. The
// request makes the record of a job (package transaction) and sends a [Message]; a [Worker]
// gets the message and goes on with the job as its [Kind] says.
//
// A kind declares stages, which are done one after the other, such as train, shards, join,
// commit. A stage is done by the worker of the job, or in parts by many workers side by side,
// each of them with a message, a lease and checkpoints of its own. The part that ends last sends
// for the job, whose next stage reads the results of the ones before. Workers of parts write
// files; the last stage, which has one worker, commits.
//
//	queued -> stage 1 -> stage 2: part 1 ┐-> stage 3 -> succeeded
//	                              part 2 ┤
//	                              part n ┘
//
// Messages carry nothing but names, arrive at least once, in any order, and may be lost: the
// record is what counts. It names the one run that holds a share and until when, and each write
// of a run is conditional on that, so that of two workers one goes on. A task must still bear to
// run twice, also at the same time, and to be killed anywhere.
//
// A task tells how far it has come at checkpoints ([Run.Checkpoint]). There it learns that
// it has to stop: the job was ended or paused by a user, somebody else has taken it over, or
// there is no time left to go on, as in a function. It returns then, and goes on from the
// checkpoint when the next message comes.
//
// Three things end a job that its task does not end. A run that fails is repeated a few times.
// A run that ends with its process is repeated once: then the job is set aside, failed, until a
// user resumes it. So is one whose message no worker could do anything with ([Worker.Bury]), and
// what a worker would begin by itself when the look whether to do so ends the process.
//
// A message that was lost is missed by whoever looks at the record later ([Starter.Revive]).
// A message may also name no job, but what might be worth doing (see [Kind.Wanted]).
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
	Stage  string   `json:"stage,omitempty"` // of the part
	Part   int      `json:"part,omitempty"`  // from 1; 0 is the job itself
	Kind   string   `json:"kind,omitempty"`
	Object []string `json:"object,omitempty"`
}

// Parse reads a message as a queue carries it, in JSON.
func Parse(text []byte) (Message, error) {
	var m Message
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("message of a job: %w", err)
	}
	if m.Job == "" && m.Kind == "" || m.Job != "" && !transaction.IsJobID(m.Job) || m.Part < 0 || m.Part > transaction.MaxParts || (m.Part > 0) != (m.Stage != "") {
		return m, fmt.Errorf("message of a job: %.200q names none", text)
	}
	return m, nil
}

// A Queue carries messages. memqueue and sqsqueue implement it; queuetest holds the contract.
// It is safe for concurrent use.
type Queue interface {
	// Send lets the messages be received, not before some time, which is no more than
	// [MaxDelay]. When it returns nil they will be, until somebody says that they are done.
	// After an error some of them may be.
	Send(ctx context.Context, after time.Duration, messages ...Message) error
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

// Begin makes the record of a job that a user asks for and lets a worker go on with it. When the
// error is not nil there may be the record of a job without a message: see [Starter.Revive].
func (s Starter) Begin(ctx context.Context, kind string, object []string, input any) (*transaction.Transaction, error) {
	return s.begin(ctx, kind, object, Want{Input: input})
}

func (s Starter) begin(ctx context.Context, kind string, object []string, want Want) (*transaction.Transaction, error) {
	encoded, err := json.Marshal(want.Input)
	if err != nil {
		return nil, fmt.Errorf("begin job %s: %w", kind, err)
	}
	t, err := s.Transactions.BeginWork(ctx, kind, object, encoded, want.Mark)
	if err != nil {
		return nil, err
	}
	return t, s.send(ctx, 0, Message{Job: t.ID})
}

// Suggest asks a worker to look, after some time, whether a job of the kind has something to
// do for an object.
func (s Starter) Suggest(ctx context.Context, kind string, object []string, after time.Duration) error {
	return s.send(ctx, after, Message{Kind: kind, Object: object})
}

// Pause lets nobody work on a job from its next checkpoint on; see [transaction.Store.Pause].
func (s Starter) Pause(ctx context.Context, id string) (before bool, err error) {
	return s.Transactions.Pause(ctx, id)
}

// Resume lets a job go on that was paused or set aside. It says whether it was, and whether a
// worker has yet to notice that: then the job just goes on.
func (s Starter) Resume(ctx context.Context, id string, now time.Time) (resumed, pausing bool, err error) {
	was, err := s.Transactions.Resume(ctx, id)
	if err != nil || !was.Work.Paused && !was.Work.Aside {
		return false, false, err
	}
	if err := s.sendFor(ctx, was); err != nil {
		return true, false, err
	}
	return true, was.Work.Held(now), nil
}

// Revive sends for a job when its message is lost: its sender died before it was sent, the queue
// dropped it, or failed. It costs nothing while the record, as it was read, does not say so.
func (s Starter) Revive(ctx context.Context, t *transaction.Transaction, now time.Time) error {
	if t.Work == nil || t.Status.Ended() || !t.Work.Lost(now) {
		return nil
	}
	lost, err := s.Transactions.Renew(ctx, t.ID)
	if err != nil || !lost {
		return err
	}
	return s.send(ctx, 0, Message{Job: t.ID}) // which sends for those parts that are lost
}

// sendFor sends for a job and all parts of its stage: also for those that have ended, as their
// workers may have died before they could tell the others.
func (s Starter) sendFor(ctx context.Context, t *transaction.Transaction) error {
	messages := []Message{{Job: t.ID}}
	if t.Work.Parts > 0 { // also when nobody knows whether they were sent for before
		for part := range t.Work.Parts {
			messages = append(messages, Message{Job: t.ID, Stage: t.Work.Stage, Part: part + 1})
		}
	}
	return s.send(ctx, 0, messages...)
}

func (s Starter) send(ctx context.Context, after time.Duration, messages ...Message) error {
	if len(messages) == 0 {
		return nil
	}
	err := s.Queue.Send(ctx, min(max(after, 0), MaxDelay), messages...)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return &protocol.Error{
		Code: protocol.ServiceUnavailable, Message: "the queue of jobs did not take a message",
		Detail: "the job is on record, and goes on by itself some time later", Unsettled: true, Err: err,
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
