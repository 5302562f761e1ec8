// Package jobs runs work that takes longer than the request that starts it. The request creates the record of a job
// (package transaction) and sends a [Message]. A [Worker] receives the message and continues the job as its [Kind]
// defines.
//
// The words of this package:
//
//   - A kind declares stages, such as train, build, join and commit, which run one after the other.
//   - A stage runs as a whole, or in parts that run in parallel.
//   - A pass is a repetition of some stages, which a later stage requests if work remains ([Again]).
//   - A unit is the piece of work that one worker leases at a time: a job, a part of a stage, or a poll
//     ([transaction.Unit]).
//   - A poll checks whether a job would have something to do for an object.
//   - A run is one attempt of one worker at one unit. It calls a function of the kind, the task.
//   - A job that is set aside has failed for a reason that a repetition does not remove. It
//     continues only when a user resumes it.
//
// Each part has its own message, lease and checkpoints. The part that ends last sends a message for the job, whose next
// stage reads the results of the earlier ones. Workers of parts write files; the last stage, which has one worker,
// commits.
//
//	queued -> stage 1 -> stage 2: part 1 ┐-> stage 3 -> succeeded
//	                              part 2 ┤
//	                              part n ┘
//
// A message contains only names and a trace span. It arrives at least once, in any order, or not at all, so the record is
// authoritative. It names the run that has leased a unit, and the end of the lease. Each write of a run is conditional on
// that lease, so that of two workers only one continues. A task must nevertheless tolerate running twice, also at the same
// time, and being killed at any point.
//
// A task reports its progress at checkpoints ([Run.Checkpoint]). A checkpoint returns an error if the task has to stop: a
// user ended or paused the job, another worker has taken the unit over, or the time of a function runs out. The task then
// returns, and the next message continues from the checkpoint.
//
// A job can also end in ways that its task does not choose. A failed run is repeated a few times. A run that ends together
// with its process is repeated twice, then the job is set aside. Other work in the process may have caused the crash, so a
// process runs at most one unit at a time that has crashed before. A job is also set aside when no worker could process
// its message ([Worker.Bury]). The same rules apply to polls.
//
// The next reader of the record notices a lost message ([Starter.Revive]). A message without a job requests a poll (see
// [Kind.Poll]).
package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/process/tally"
	"tiltyard/shared/process/tracing"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/format"
)

// A Message requests that a worker continue a job or a part of it. A message without a job requests
// a poll: if a job of the kind has work to do for the object, the worker begins that job.
type Message struct {
	Job    string   `json:"job,omitempty"`
	Stage  string   `json:"stage,omitempty"` // stage of the part
	Part   int      `json:"part,omitempty"`  // from 1; 0 is the job itself
	Kind   string   `json:"kind,omitempty"`
	Object []string `json:"object,omitempty"`
	Heavy  bool     `json:"heavy,omitempty"` // for heavy workers, see heavy.go
	Trace  string   `json:"trace,omitempty"` // parent span of the work: see [tracing.Parent]
}

// Parse decodes and checks a message in JSON, the form in which queues carry it. [format.Newer]
// recognizes the error of a message from a newer release.
func Parse(text []byte) (Message, error) {
	var m Message
	if err := format.Decode("message of a job", text, &m); err != nil {
		return m, err
	}
	if m.Job == "" && m.Kind == "" || m.Job != "" && !transaction.IsJobID(m.Job) || m.Part < 0 || m.Part > transaction.MaxParts || (m.Part > 0) != (m.Stage != "") {
		return m, fmt.Errorf("message of a job: %.200q names neither a job nor a kind", text)
	}
	return m, nil
}

// unit returns the unit to which the message refers.
func (m Message) unit() transaction.Unit {
	if m.Job == "" {
		return transaction.PollOf(m.Kind, m.Object)
	}
	return transaction.Unit{Job: m.Job, Stage: m.Stage, Part: m.Part}
}

// messageFor returns the message for a job or a part.
func messageFor(unit transaction.Unit, heavy bool) Message {
	return Message{Job: unit.Job, Stage: unit.Stage, Part: unit.Part, Heavy: heavy}
}

// A Queue carries messages, at least once each. memqueue and sqsqueue implement it; queuetest tests
// its contract. It is safe for concurrent use.
type Queue interface {
	// Send makes the messages available after a delay of at most [MaxDelay]. When it returns nil,
	// they are delivered until a receiver calls Done. After an error some of them may be delivered.
	Send(ctx context.Context, after time.Duration, messages ...Message) error
	// Receive waits for a message, or until the context ends. The message is hidden from other
	// receivers for the time hold; after that it is delivered again unless Done was called.
	Receive(ctx context.Context, hold time.Duration) (Delivery, error)
	// Extend hides a received message for the time hold, counted from now.
	Extend(ctx context.Context, d Delivery, hold time.Duration) error
	// Done deletes a received message.
	Done(ctx context.Context, d Delivery) error
}

// MaxDelay is the longest delay of a message; SQS allows no more.
const MaxDelay = 15 * time.Minute

// A Delivery is a message that was received.
type Delivery struct {
	Message
	Receipt string // identifies this delivery; only the queue reads it
}

// A Starter creates jobs and sends their messages. It is nil in a program without a queue.
type Starter struct {
	Transactions *transaction.Store
	Queue        Queue
	// Heavy carries the messages of heavy work. If it is nil, Queue carries all messages. A program
	// that only begins jobs needs no Heavy, because a light worker passes messages of heavy work on.
	Heavy Queue
}

// NewStarter returns a Starter, or nil if queue is nil.
func NewStarter(transactions *transaction.Store, queue Queue) *Starter {
	if queue == nil {
		return nil
	}
	return &Starter{Transactions: transactions, Queue: queue}
}

// Begin creates the record of a job on behalf of a user and sends its message. After an error the
// record may exist without a message: see [Starter.Revive].
func (s Starter) Begin(ctx context.Context, kind string, object []string, input any) (*transaction.Transaction, error) {
	return s.begin(ctx, kind, object, Trigger{Input: input})
}

// begin creates the record with the revision of a poll, if there is one, and sends the message.
func (s Starter) begin(ctx context.Context, kind string, object []string, trigger Trigger) (*transaction.Transaction, error) {
	encoded, err := json.Marshal(trigger.Input)
	if err != nil {
		return nil, fmt.Errorf("begin job %s: %w", kind, err)
	}
	t, err := s.Transactions.BeginWork(ctx, kind, object, encoded, trigger.Revision)
	if err != nil {
		return nil, err
	}
	tally.AddJob(ctx)
	return t, s.send(ctx, 0, Message{Job: t.ID})
}

// Suggest schedules a poll after a delay: a worker checks whether a job of the kind has something
// to do for an object.
func (s Starter) Suggest(ctx context.Context, kind string, object []string, after time.Duration) error {
	return s.send(ctx, after, Message{Kind: kind, Object: object})
}

// SuggestEach schedules polls for several objects with few requests to the queue.
func (s Starter) SuggestEach(ctx context.Context, kind string, objects [][]string) error {
	messages := make([]Message, len(objects))
	for i, object := range objects {
		messages[i] = Message{Kind: kind, Object: object}
	}
	return s.send(ctx, 0, messages...)
}

// Pause stops the job at its next checkpoint; see [transaction.Store.Pause].
func (s Starter) Pause(ctx context.Context, job transaction.Unit) (before bool, err error) {
	return s.Transactions.Pause(ctx, job)
}

// Resume continues a job that was paused or set aside; resumed reports whether it was. pausing
// reports that the worker has not noticed the pause yet, so the job simply continues.
func (s Starter) Resume(ctx context.Context, job transaction.Unit, now time.Time) (resumed, pausing bool, err error) {
	was, err := s.Transactions.Resume(ctx, job)
	if err != nil || !was.Work.Paused && !was.Work.SetAside {
		return false, false, err
	}
	if err := s.sendFor(ctx, was); err != nil {
		return true, false, err
	}
	return true, was.Work.Held(now), nil
}

// Revive sends a message for a job whose message was lost, because its sender died first or the
// queue dropped it. It sends no request unless t shows that a message is missing.
func (s Starter) Revive(ctx context.Context, t *transaction.Transaction, now time.Time) error {
	if t.Work == nil || t.Status.Ended() || !t.Work.Lost(now) {
		return nil
	}
	lost, err := s.Transactions.Renew(ctx, transaction.Unit{Job: t.ID})
	if err != nil || !lost {
		return err
	}
	// The job then resends the messages of its lost parts.
	return s.send(ctx, 0, Message{Job: t.ID, Heavy: t.Work.Heavy && t.Work.Parts == 0})
}

// sendFor sends messages for a job and all parts of its stage. It includes parts that have ended,
// because their workers may have died before they reported that.
func (s Starter) sendFor(ctx context.Context, t *transaction.Transaction) error {
	messages := []Message{{Job: t.ID, Heavy: t.Work.Heavy && t.Work.Parts == 0}}
	if t.Work.Parts > 0 { // they may have been sent before; a repetition does no harm
		for part := range t.Work.Parts {
			messages = append(messages, messageFor(transaction.Unit{Job: t.ID, Stage: t.Work.Stage, Part: part + 1}, t.Work.Heavy))
		}
	}
	return s.send(ctx, 0, messages...)
}

// send sends the messages with the current trace span, and heavy ones to the heavy queue.
func (s Starter) send(ctx context.Context, after time.Duration, messages ...Message) error {
	if len(messages) == 0 {
		return nil
	}
	var light, heavy []Message
	trace := tracing.Parent(ctx)
	for _, m := range messages {
		if m.Trace == "" {
			m.Trace = trace
		}
		if m.Heavy && s.Heavy != nil {
			heavy = append(heavy, m)
		} else {
			light = append(light, m)
		}
	}
	var err error
	after = min(max(after, 0), MaxDelay)
	if len(light) > 0 {
		err = s.Queue.Send(ctx, after, light...)
	}
	if err == nil && len(heavy) > 0 {
		err = s.Heavy.Send(ctx, after, heavy...)
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	// The record exists, so the outcome counts as unsettled: a later reader of the record sends the
	// message again.
	return &protocol.Error{
		Code: protocol.ServiceUnavailable, Message: "the queue of jobs did not accept a message",
		Detail: "the job is recorded, and continues by itself some time later", Unsettled: true, Err: err,
	}
}

// later ends a run that another one continues after a delay.
type later struct{ after time.Duration }

func (l later) Error() string { return "the job continues after " + l.after.String() }

// Later returns the error with which a task requests another run after a delay. That run starts
// from the last checkpoint.
func Later(after time.Duration) error { return later{after} }
