package simulation

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"tiltyard/shared/job"
	"tiltyard/shared/protocol"
	"tiltyard/shared/transaction"
)

// jobs are some that take three steps, then parts in two stages, and put together what those come
// to. The facts are "job <id>", its status. Workers are
// clients, too: they ask an instance to go on with the job of a message that they have, and
// give the message back when it does not say that it is done with it. Each job is checked by
// itself.
var jobs = domain{name: "jobs", setup: func(*client) {}, draw: drawJobs, finale: finishJobs}

// The paths of requests that nobody but the simulation sends.
const (
	beginPath   = "/jobs/begin"
	workPath    = "/jobs/work"
	recoverPath = "/jobs/recover"
)

const (
	countKind  = "count"
	countSteps = 3
)

func drawJobs(c *client) *op {
	switch n := c.rng.IntN(8); {
	case n == 0:
		return c.beginJob()
	case n < 5:
		if m, ok := c.world.queue.take(c.world, false); ok {
			return c.work(m)
		}
		return c.beginJob()
	default:
		begun := c.world.queue.begun
		if len(begun) == 0 {
			return c.beginJob()
		}
		id := begun[c.rng.IntN(len(begun))]
		if n == 5 {
			return cancelJob(id)
		}
		return describeJob(id, nil)
	}
}

// finishJobs lets workers do what there is to do. Then every job has ended. One that is begun
// when nothing goes wrong succeeds by its messages alone.
func finishJobs(c *client) {
	c.do(c.beginJob())
	c.workAll()
	begun := c.world.queue.begun
	c.do(describeJob(begun[len(begun)-1], func(s protocol.TransactionStatus) bool { return s == protocol.TransactionSucceeded }))
	c.do(&op{domain: "jobs", text: "recover jobs", request: post(recoverPath, nil), apply: reading(func(_ facts, o outcome) bool { return o.ok() })})
	c.workAll()
	for _, id := range slices.Clone(c.world.queue.begun) {
		c.do(describeJob(id, protocol.TransactionStatus.Ended))
	}
}

// workAll does what all messages ask for.
func (c *client) workAll() {
	for {
		m, ok := c.world.queue.take(c.world, true)
		if !ok {
			return
		}
		c.do(c.work(m))
	}
}

func (c *client) beginJob() *op {
	idOf := func(o outcome) string {
		var told struct{ ID string }
		o.decode(&told)
		return told.ID
	}
	begin := &op{
		domain: "jobs", text: "begin a job", request: post(beginPath, nil),
		apply: func(f facts, o outcome) []facts {
			if !o.ok() { // nobody is told the id
				return []facts{f}
			}
			return []facts{f.with("job "+idOf(o), string(protocol.TransactionQueued))}
		},
	}
	begin.learn = func(o outcome) {
		if o.ok() {
			begin.domain = "job " + idOf(o)
			c.world.queue.begun = append(c.world.queue.begun, idOf(o))
		}
	}
	return begin
}

// work goes on with a job. It may find it begun, and it may end it.
func (c *client) work(m *message) *op {
	name := "job " + m.Job
	becomes := func(from protocol.TransactionStatus, to ...protocol.TransactionStatus) func(f facts) []facts {
		return func(f facts) []facts {
			next := []facts{f}
			if status, _ := f.get(name); status == string(from) {
				for _, status := range to {
					next = append(next, f.with(name, string(status)))
				}
			}
			return next
		}
	}
	return &op{
		domain: name, text: "work on " + name, request: post(workPath, m.Message),
		learn: func(o outcome) {
			done := o.ok() && (c.world.calm || c.rng.IntN(8) > 0) // else it comes twice
			c.world.queue.back(m, done)
		},
		apply: reading(func(_ facts, o outcome) bool { return o.ok() }),
		parts: []func(f facts) []facts{
			becomes(protocol.TransactionQueued, protocol.TransactionRunning),
			becomes(protocol.TransactionRunning, protocol.TransactionSucceeded, protocol.TransactionFailed),
		},
	}
}

func cancelJob(id string) *op {
	canceled := map[string]any{"setStatusAction": map[string]any{"status": protocol.TransactionCanceled}}
	return &op{
		domain: "job " + id, text: "cancel job " + id,
		request: post("/v1/transaction/"+id+"/alter", map[string]any{"actions": []any{canceled}}),
		apply: usual(func(f facts, _ outcome) (facts, bool) {
			return f.with("job "+id, string(protocol.TransactionCanceled)), f.has("job " + id)
		}, func(facts, outcome) bool { return false }),
	}
}

func describeJob(id string, want func(protocol.TransactionStatus) bool) *op {
	return &op{
		domain: "job " + id, text: "describe job " + id, request: post("/v1/transaction/"+id+"/describe", map[string]any{}),
		apply: reading(func(f facts, o outcome) bool {
			var told struct{ Status protocol.TransactionStatus }
			if o.ok() {
				o.decode(&told)
			}
			status, _ := f.get("job " + id)
			return o.ok() && status == string(told.Status) && (want == nil || want(told.Status))
		}),
	}
}

// queue is that of all jobs. It belongs to the world, and does not fail.
type queue struct {
	waiting []*message
	begun   []string // the jobs that clients know of
}

type message struct {
	job.Message
	from time.Time
}

// take returns a message whose time has come, or any.
func (q *queue) take(w *world, anyTime bool) (*message, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(q.waiting, func(m *message) bool { return anyTime || !w.clock.Before(m.from) })
	if i < 0 {
		return nil, false
	}
	m := q.waiting[i]
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return m, true
}

// back is told whether what a message asks for was done.
func (q *queue) back(m *message, done bool) {
	if !done {
		q.waiting = append(q.waiting, m)
	}
}

// An outbox is how an instance sends messages.
type outbox struct{ instance *instance }

func (o outbox) Send(_ context.Context, after time.Duration, messages ...job.Message) error {
	w := o.instance.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if o.instance.dead {
		return errDied
	}
	for _, m := range messages {
		w.queue.waiting = append(w.queue.waiting, &message{m, w.clock.Add(after)})
	}
	return nil
}

func (outbox) Receive(ctx context.Context, _ time.Duration) (job.Delivery, error) {
	<-ctx.Done()
	return job.Delivery{}, ctx.Err()
}

func (outbox) Extend(context.Context, job.Delivery, time.Duration) error { return nil }

func (outbox) Done(context.Context, job.Delivery) error { return nil }

// jobHandler serves what workers ask for.
func jobHandler(i *instance, transactions *transaction.Store, now func() time.Time) http.Handler {
	worker := &job.Worker{
		Starter: *job.NewStarter(transactions, outbox{i}), Name: rand.Text, Now: now, Logger: slog.New(slog.DiscardHandler),
		Kinds: map[string]job.Kind{countKind: counting},
	}
	mux := http.NewServeMux()
	mux.HandleFunc(beginPath, func(w http.ResponseWriter, r *http.Request) {
		begun, err := worker.Begin(r.Context(), countKind, []string{"counted"}, nil)
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"id": begun.ID})
	})
	mux.HandleFunc(workPath, func(w http.ResponseWriter, r *http.Request) {
		var m job.Message
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			panic(err)
		}
		ctx, done := context.WithTimeout(r.Context(), 10*requestTimeout)
		defer done()
		if worker.Do(ctx, m) != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc(recoverPath, func(w http.ResponseWriter, r *http.Request) {
		if _, err := worker.Recover(r.Context()); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	return mux
}

// counting is what jobs do.
var counting = job.Kind{Stages: []job.Stage{
	{Name: "count", Do: count},
	{Name: "left", Parts: parts(2), Do: number},
	{Name: "right", Parts: parts(3), Do: number},
	{Name: "commit", Do: commit},
}}

func parts(n int) func(context.Context, *job.Run) (int, error) {
	return func(context.Context, *job.Run) (int, error) { return n, nil }
}

// number comes to the name of a part.
func number(_ context.Context, r *job.Run) (any, error) {
	part, of := r.Part()
	return fmt.Sprintf("%s %d/%d", r.Stage(), part, of), nil
}

// commit fails unless each part of each stage has come to what it should.
func commit(ctx context.Context, r *job.Run) (any, error) {
	left, err := r.Results(ctx, "left")
	if err != nil {
		return nil, err
	}
	right, err := r.Results(ctx, "right")
	if err != nil {
		return nil, err
	}
	if got := fmt.Sprintf("%s%s", left, right); got != `["left 1/2" "left 2/2"]["right 1/3" "right 2/3" "right 3/3"]` {
		return nil, protocol.Errorf(protocol.InvalidInput, "the parts came to %s", got)
	}
	return "all", nil
}

// count takes its steps, from where another run has left them.
func count(ctx context.Context, r *job.Run) (any, error) {
	var step int
	if err := r.State(&step); err != nil {
		return nil, err
	}
	for step < countSteps {
		step++
		r.Progress(job.Progress{Done: int64(step), Total: countSteps})
		if err := r.Checkpoint(ctx, step); err != nil {
			return nil, err
		}
	}
	return step, nil
}
