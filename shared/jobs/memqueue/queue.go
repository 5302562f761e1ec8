// Package memqueue carries messages of jobs within one process. They are lost with the process; a
// worker that starts recovers them from the records of the jobs ([jobs.Worker.Recover]).
package memqueue

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"tiltyard/shared/jobs"
)

// A Queue keeps messages in memory. Its zero value is ready to use.
type Queue struct {
	mu      sync.Mutex
	waiting []message
	last    int           // the receipt given last
	changed chan struct{} // closed when waiting changes; nil when no receiver waits
}

// message is a message in the queue, waiting or delivered but not done.
type message struct {
	jobs.Message
	from    time.Time // when it is due
	receipt string    // of its latest delivery; "" before the first
}

var _ jobs.Queue = (*Queue)(nil)

// Send implements jobs.Queue. It drops a message that is already waiting and is due at the same
// time or earlier.
func (q *Queue) Send(_ context.Context, after time.Duration, messages ...jobs.Message) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	from := time.Now().Add(after)
	for _, m := range messages {
		if !q.has(m, from) {
			q.waiting = append(q.waiting, message{Message: m, from: from})
		}
	}
	q.wake()
	return nil
}

// has reports whether the message waits in the queue and is due by the given time.
func (q *Queue) has(m jobs.Message, from time.Time) bool {
	return slices.ContainsFunc(q.waiting, func(other message) bool {
		return other.receipt == "" && !other.from.After(from) && same(other.Message, m)
	})
}

// same reports whether two messages name the same work. Their traces may differ.
func same(a, b jobs.Message) bool {
	return a.Job == b.Job && a.Stage == b.Stage && a.Part == b.Part && a.Kind == b.Kind && slices.Equal(a.Object, b.Object)
}

// Receive implements jobs.Queue.
func (q *Queue) Receive(ctx context.Context, hold time.Duration) (jobs.Delivery, error) {
	for {
		if err := ctx.Err(); err != nil {
			return jobs.Delivery{}, err
		}
		d, changed, wait := q.take(hold)
		if d.Receipt != "" {
			return d, nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// take returns a message that is due. Otherwise it returns how long to wait for one, and a channel
// that is closed when the queue changes.
func (q *Queue) take(hold time.Duration) (d jobs.Delivery, changed <-chan struct{}, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	wait = time.Hour
	for i := range q.waiting {
		m := &q.waiting[i]
		if left := m.from.Sub(now); left > 0 {
			wait = min(wait, left)
			continue
		}
		// The message stays in the queue, hidden until its hold ends.
		q.last++
		m.from, m.receipt = now.Add(hold), strconv.Itoa(q.last)
		return jobs.Delivery{Message: m.Message, Receipt: m.receipt}, nil, 0
	}
	if q.changed == nil {
		q.changed = make(chan struct{})
	}
	return jobs.Delivery{}, q.changed, wait
}

// Extend implements jobs.Queue.
func (q *Queue) Extend(_ context.Context, d jobs.Delivery, hold time.Duration) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range q.waiting {
		if q.waiting[i].receipt == d.Receipt {
			q.waiting[i].from = time.Now().Add(hold)
		}
	}
	return nil
}

// Done implements jobs.Queue.
func (q *Queue) Done(_ context.Context, d jobs.Delivery) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = slices.DeleteFunc(q.waiting, func(m message) bool { return m.receipt == d.Receipt })
	return nil
}

// wake lets waiting receivers check the queue again. The caller holds mu.
func (q *Queue) wake() {
	if q.changed != nil {
		close(q.changed)
		q.changed = nil
	}
}
