package simulation_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/transaction"
)

// queue is that of all jobs. It belongs to the world.
type queue struct {
	rng     *rand.Rand // of its own, so that other domains draw as they would without it
	unsent  int        // the chance that messages are lost when they are sent, in thousandths
	repeats int        // the chance that a message comes again although what it asks for was done, in thousandths
	waiting []*message
	dead    []*message // that came too often
	begun   []string   // the jobs that clients know of

	runs    map[string]int // of poison, by job
	resumes map[string]int // that were asked for
	wrong   string         // what no model can say: "" or what should not have happened
}

func newQueue(seed uint64) *queue {
	rng := rand.New(rand.NewPCG(seed, 1<<32))
	q := &queue{rng: rng, unsent: rng.IntN(2) * rng.IntN(300), runs: map[string]int{}, resumes: map[string]int{}}
	q.repeats = []int{0, rng.IntN(300), 1000}[rng.IntN(3)]
	return q
}

type message struct {
	jobs.Message
	from     time.Time
	receives int
	repeated bool // it came again after all was done; it does so once
}

// mostReceives is how often a message comes before it is a dead letter.
const mostReceives = 5

// take returns a message whose time has come. It says whether it is a dead letter.
func (q *queue) take(w *world) (m *message, dead, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(q.dead) > 0 {
		m, q.dead = q.dead[0], q.dead[1:]
		return m, true, true
	}
	i := slices.IndexFunc(q.waiting, func(m *message) bool { return !w.clock.Before(m.from) })
	if i < 0 {
		return nil, false, false
	}
	m = q.waiting[i]
	q.waiting = slices.Delete(q.waiting, i, i+1)
	m.receives++
	return m, false, true
}

// waits reports whether there are messages, be it for later.
func (q *queue) waits(w *world) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(q.waiting)+len(q.dead) > 0
}

// back is told whether what a message asks for was done. If not it comes again.
func (q *queue) back(w *world, m *message, dead, done bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case done && !m.repeated && !w.calm && q.rng.IntN(1000) < q.repeats:
		m.repeated, m.receives, m.from = true, 0, w.clock.Add(time.Duration(q.rng.IntN(int(time.Minute))))
		q.waiting = append(q.waiting, m)
		w.witness.counts["messages that came again"]++
	case done:
	case dead:
		q.dead = append(q.dead, m)
	case m.receives >= mostReceives:
		m.receives = 0
		q.dead = append(q.dead, m)
	default:
		q.waiting = append(q.waiting, m)
	}
}

// mayDie is told that a job of that poison is about to end its process, and says whether it
// does. A job that ended its process [transaction.MaxDeaths] times is set aside, so it may do so no more often than that
// from its beginning on, and from each resume.
func (q *queue) mayDie(w *world, id string, p poison) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if q.runs[id] >= p.Times {
		return false
	}
	if q.runs[id]++; q.runs[id] > transaction.MaxDeaths*(1+q.resumes[id]) {
		q.wrong = fmt.Sprintf("job %s ended its process %d times, and was resumed %d times", id, q.runs[id], q.resumes[id])
	}
	return true
}

// An outbox is how an instance sends messages.
type outbox struct{ instance *instance }

func (o outbox) Send(_ context.Context, after time.Duration, messages ...jobs.Message) error {
	w := o.instance.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if o.instance.dead {
		return errDied
	}
	if q := w.queue; !w.calm && q.rng.IntN(1000) < q.unsent {
		if q.rng.IntN(2) == 0 {
			return errReset
		}
		return nil // and nobody knows
	}
	for _, m := range messages {
		w.queue.waiting = append(w.queue.waiting, &message{Message: m, from: w.clock.Add(after)})
		if q := w.queue; !w.calm && q.rng.IntN(1000) < q.repeats {
			w.queue.waiting = append(w.queue.waiting, &message{Message: m, from: w.clock.Add(after), repeated: true}) // at the same time
			w.witness.counts["messages that came twice"]++
		}
	}
	return nil
}

func (outbox) Receive(ctx context.Context, _ time.Duration) (jobs.Delivery, error) {
	<-ctx.Done()
	return jobs.Delivery{}, ctx.Err()
}

func (outbox) Extend(context.Context, jobs.Delivery, time.Duration) error { return nil }

func (outbox) Done(context.Context, jobs.Delivery) error { return nil }
