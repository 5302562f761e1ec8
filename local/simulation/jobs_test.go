package simulation_test

import (
	"context"
	cryptorand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/transactionapi"
)

// jobs are some that take three steps, then parts in two stages, and put together what those come
// to. The facts are "job <id>", its status. Workers are clients, too: they ask an instance to go on
// with the job of a message that they have, and give the message back when it does not say that it
// is done with it. A message that came back too often is a dead letter. In every second history
// heavy work, which some parts are, has a queue of its own. Some jobs are poison: they end the
// process of their worker, once, twice or always, until users resume them. Some messages are lost.
// Each job is checked by itself.
var jobRuns = domain{name: "jobs", setup: func(*client) {}, draw: drawJobs, finale: finishJobs}

// The paths of requests that nobody but the simulation sends.
const (
	beginPath  = "/jobs/begin"
	workPath   = "/jobs/work"
	buryPath   = "/jobs/bury"
	resumePath = "/jobs/resume"
	revivePath = "/jobs/revive"
)

const countKind, countSteps = "count", 3

// A poison is what ends the process of the worker, so many times.
type poison struct {
	At    string // stage and part, such as "left 1"; "" is no poison
	Times int
}

var (
	poisonedAt = []string{"", "", "", "", "count 1", "left 1", "right 3", "commit 1"}
	poisonings = []int{1, 2, 3, 1000}
)

func (c *client) drawPoison() poison {
	return poison{At: poisonedAt[c.rng.IntN(len(poisonedAt))], Times: poisonings[c.rng.IntN(len(poisonings))]}
}

func drawJobs(c *client) *op {
	switch n := c.rng.IntN(9); {
	case n == 0:
		return c.beginJob(c.drawPoison())
	case n < 5:
		if m, dead, ok := c.world.queue.take(c.world); ok {
			return c.work(m, dead)
		}
		return c.beginJob(c.drawPoison())
	default:
		begun := c.world.queue.begun
		if len(begun) == 0 {
			return c.beginJob(c.drawPoison())
		}
		id := begun[c.rng.IntN(len(begun))]
		switch n {
		case 5:
			return cancelJob(id)
		case 6:
			return resumeJob(id)
		}
		return describeJob(id, nil)
	}
}

// finishJobs lets workers do what there is to do. Then every job has ended. One that is begun
// when nothing goes wrong succeeds by its messages alone. Those that are set aside stay so, until
// they are resumed: then they succeed, unless they end the process of their worker again.
func finishJobs(c *client) {
	c.do(c.beginJob(poison{}))
	c.workAll()
	begun := c.world.queue.begun
	c.do(describeJob(begun[len(begun)-1], func(status transactionapi.Status, _ string) bool { return status == transactionapi.Succeeded }))
	c.reviveAll()
	for _, id := range slices.Clone(begun) {
		c.do(describeJob(id, endedWell))
	}
	runs := maps.Clone(c.world.queue.runs)
	c.reviveAll()
	if !maps.Equal(runs, c.world.queue.runs) {
		c.world.queue.wrong = "jobs that were set aside go on by themselves"
	}
	for _, id := range slices.Clone(begun) {
		c.do(resumeJob(id))
	}
	c.workAll()
	for _, id := range slices.Clone(begun) {
		c.do(describeJob(id, func(status transactionapi.Status, failure string) bool {
			wentOn := c.world.queue.runs[id] > runs[id]
			return endedWell(status, failure) && (wentOn || !strings.Contains(failure, "set aside"))
		}))
	}
}

// endedWell reports whether a job has ended, and with the results of all parts if it came so far.
func endedWell(status transactionapi.Status, failure string) bool {
	return status.Ended() && !strings.Contains(failure, lostResults)
}

// reviveAll sends for the jobs whose messages are lost, and does what there is to do.
func (c *client) reviveAll() {
	c.revive()
	c.workAll()
}

// revive sends for the jobs whose messages are lost.
func (c *client) revive() {
	c.do(&op{domain: "jobs", text: "revive jobs", request: post(revivePath, nil), apply: reading(func(_ facts, o outcome) bool { return o.ok() })})
}

// workAll does what all messages ask for, when their time has come. A job may wait for another one whose message
// is lost: workers send for such jobs now and then.
func (c *client) workAll() {
	const most = 500 // what jobs take is a tenth of that
	for n := 0; c.world.queue.waits(c.world); n++ {
		if n == most {
			c.world.queue.wrong = "messages of jobs come without end"
			return
		}
		if c.world.works && n%100 == 99 {
			c.revive()
		}
		m, dead, ok := c.world.queue.take(c.world)
		if !ok {
			time.Sleep(c.world.tick())
			n--
			continue
		}
		c.do(c.work(m, dead))
	}
}

func (c *client) beginJob(p poison) *op {
	idOf := func(o outcome) string {
		var told struct{ ID string }
		o.decode(&told)
		return told.ID
	}
	begin := &op{
		domain: "jobs", text: fmt.Sprintf("begin a job with poison %+v", p), request: post(beginPath, p),
		apply: func(f facts, o outcome) []facts {
			if !o.ok() { // nobody is told the id
				return []facts{f}
			}
			return []facts{f.with("job "+idOf(o), string(transactionapi.Queued))}
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

// becomes is what may happen to a job while somebody works on it.
func becomes(name string, from transactionapi.Status, to ...transactionapi.Status) func(f facts) []facts {
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

// work goes on with a job. It may find it begun, and it may end it. What comes of a dead letter is
// that the job is set aside.
func (c *client) work(m *message, dead bool) *op {
	name := "job " + m.Job
	o := &op{
		domain: name, text: fmt.Sprintf("work on %s, %s %d", name, m.Stage, m.Part), request: post(workPath, m.Message), deadly: true,
		learn: func(o outcome) {
			done := o.ok() && (c.world.calm || c.rng.IntN(8) > 0) // else it comes twice
			c.world.queue.back(c.world, m, dead, done)
		},
		apply: reading(func(_ facts, o outcome) bool { return o.ok() }),
		parts: []func(f facts) []facts{
			becomes(name, transactionapi.Queued, transactionapi.Running),
			becomes(name, transactionapi.Running, transactionapi.Succeeded, transactionapi.Failed),
		},
	}
	if dead {
		o.text, o.request = "bury the message of "+name, post(buryPath, m.Message)
	}
	return o
}

// resumeJob lets a job go on that is set aside, and does nothing to others.
func resumeJob(id string) *op {
	again := becomes("job "+id, transactionapi.Failed, transactionapi.Queued)
	return &op{
		domain: "job " + id, text: "resume job " + id, request: post(resumePath, id),
		apply: reading(func(_ facts, o outcome) bool { return o.ok() }),
		parts: []func(f facts) []facts{again, again}, // it may be sent twice, and fail between
	}
}

func cancelJob(id string) *op {
	canceled := map[string]any{"setStatusAction": map[string]any{"status": transactionapi.Canceled}}
	return &op{
		domain: "job " + id, text: "cancel job " + id,
		request: post("/v1/transaction/"+id+"/alter", map[string]any{"actions": []any{canceled}}),
		apply: usual(func(f facts, _ outcome) (facts, bool) {
			return f.with("job "+id, string(transactionapi.Canceled)), f.has("job " + id)
		}, func(facts, outcome) bool { return false }),
	}
}

func describeJob(id string, want func(status transactionapi.Status, failure string) bool) *op {
	return &op{
		domain: "job " + id, text: "describe job " + id, request: post("/v1/transaction/"+id+"/describe", map[string]any{}),
		apply: reading(func(f facts, o outcome) bool {
			var told struct {
				Status     transactionapi.Status
				Properties map[string]string
			}
			if o.ok() {
				o.decode(&told)
			}
			status, _ := f.get("job " + id)
			return o.ok() && status == string(told.Status) && (want == nil || want(told.Status, told.Properties["error"]))
		}),
	}
}

// jobHandler serves what workers ask for.
func jobHandler(i *instance, worker *jobs.Worker, now func() time.Time) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(beginPath, func(w http.ResponseWriter, r *http.Request) {
		var p poison
		decodeBody(r, &p)
		begun, err := worker.Begin(r.Context(), countKind, []string{"counted"}, p)
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"id": begun.ID})
	})
	serve := func(path string, do func(ctx context.Context, r *http.Request) error) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			began, _ := i.world.now()
			ctx, done := context.WithTimeout(context.WithValue(r.Context(), beganKey{}, began), 10*requestTimeout)
			defer done()
			if do(ctx, r) != nil {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		})
	}
	// Messages of the queue of heavy work have workers of their own.
	heavy := &jobs.Worker{Starter: worker.Starter, Kinds: worker.Kinds, Name: worker.Name, Now: worker.Now, Logger: worker.Logger, Memory: worker.Memory}
	serve(workPath, func(ctx context.Context, r *http.Request) error {
		var m jobs.Message
		decodeBody(r, &m)
		if m.Heavy {
			return heavy.Do(ctx, m)
		}
		return worker.Do(ctx, m)
	})
	serve(buryPath, func(ctx context.Context, r *http.Request) error {
		var m jobs.Message
		decodeBody(r, &m)
		return worker.Bury(ctx, m)
	})
	serve(resumePath, func(ctx context.Context, r *http.Request) error {
		var id string
		decodeBody(r, &id)
		i.world.mu.Lock()
		i.world.queue.resumes[id]++
		i.world.mu.Unlock()
		_, _, err := worker.Resume(ctx, transaction.Unit{Job: id}, now())
		if errors.Is(err, transaction.ErrEnded) {
			return nil
		}
		return err
	})
	serve(revivePath, func(ctx context.Context, _ *http.Request) error {
		return worker.Do(ctx, jobs.Message{Kind: jobs.ReviveAllKind}) // as the clock of a deployment asks for
	})
	return mux
}

func decodeBody(r *http.Request, v any) {
	if err := json.NewDecoder(r.Body).Decode(v); err != nil {
		panic(err)
	}
}

// counting is what jobs do at an instance.
func counting(i *instance) jobs.Kind {
	return jobs.Kind{Stages: []jobs.Stage{
		{Name: "count", Do: i.poisoned(count)},
		{Name: "left", Parts: parts(2), Do: i.poisoned(number)},
		{Name: "right", Parts: parts(3), Estimate: hours, Do: i.poisoned(after)},
		{Name: "commit", Do: i.poisoned(commit)},
	}}
}

// poisoned does the work, unless the job ends the process of the instance before.
func (i *instance) poisoned(do func(context.Context, *jobs.Run) (any, error)) func(context.Context, *jobs.Run) (any, error) {
	return func(ctx context.Context, r *jobs.Run) (any, error) {
		var p poison
		if err := r.Input(&p); err != nil {
			return nil, err
		}
		part, _ := r.Part()
		if p.At == fmt.Sprint(r.Stage(), " ", part) && i.world.queue.mayDie(i.world, r.ID(), p) {
			i.world.note("%s: DIES OF JOB %s", i.name, r.ID())
			i.end()
			return nil, errDied
		}
		return do(ctx, r)
	}
}

// hours estimates work that is heavy.
func hours(context.Context, *jobs.Run) (jobs.Effort, error) { return jobs.Effort{Time: time.Hour}, nil }

func parts(n int) func(context.Context, *jobs.Run) (int, error) {
	return func(context.Context, *jobs.Run) (int, error) { return n, nil }
}

// number comes to the name of a part, and to a text that another run of the part does not come to.
func number(_ context.Context, r *jobs.Run) (any, error) {
	part, of := r.Part()
	return fmt.Sprintf("%s %d/%d %s", r.Stage(), part, of, cryptorand.Text()), nil
}

// after comes to the name of a part, and to what the parts of the stage before came to.
func after(ctx context.Context, r *jobs.Run) (any, error) {
	left, err := r.Results(ctx, "left")
	part, of := r.Part()
	return fmt.Sprintf("%s %d/%d %s", r.Stage(), part, of, left), err
}

const lostResults = "the parts came to"

// commit fails unless each part of each stage has come to what it should. The parts of the second stage have seen
// what those of the first one came to: of several runs of a part, the same one counts for all.
func commit(ctx context.Context, r *jobs.Run) (any, error) {
	left, err := r.Results(ctx, "left")
	if err != nil {
		return nil, err
	}
	right, err := r.Results(ctx, "right")
	if err != nil {
		return nil, err
	}
	sawLeft := len(left) == 2 && len(right) == 3
	for i, encoded := range right {
		var got string
		sawLeft = sawLeft && json.Unmarshal(encoded, &got) == nil && got == fmt.Sprintf("right %d/3 %s", i+1, left)
	}
	if !sawLeft {
		return nil, protocol.Errorf(protocol.InvalidInput, lostResults+" %s and then %s", left, right)
	}
	return "all", nil
}

// count takes its steps, from where another run has left them.
func count(ctx context.Context, r *jobs.Run) (any, error) {
	var step int
	if err := r.State(&step); err != nil {
		return nil, err
	}
	for step < countSteps {
		step++
		r.Progress(jobs.Progress{Done: int64(step), Total: countSteps})
		if err := r.Checkpoint(ctx, step); err != nil {
			return nil, err
		}
	}
	return step, nil
}
