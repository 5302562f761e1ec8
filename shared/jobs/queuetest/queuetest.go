// Package queuetest tests the contract of [jobs.Queue]. Each implementation runs it.
package queuetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/jobs"
)

// Hold is the shortest hold of queues that count in seconds, and soon is a longer wait. patience
// bounds the wait for a message: if the answer to a receive was lost, the message comes again only
// after its full hold.
const (
	Hold     = time.Second
	soon     = 10 * time.Second
	patience = time.Minute
)

// Run tests a queue. open returns an empty queue for each check. within runs each check:
// [InRealTime], or synctest.Test for queues in memory.
func Run(t *testing.T, within func(*testing.T, func(*testing.T)), open func(t *testing.T) jobs.Queue) {
	for name, check := range map[string]func(*testing.T, jobs.Queue){
		"a message arrives as it was":       arrives,
		"each message is received once":     once,
		"many can be sent together":         many,
		"one that is not done comes again":  again,
		"a shorter hold counts, too":        shorter,
		"one that is held longer waits":     held,
		"one can be held back":              later,
		"receiving ends with its context":   ends,
		"done twice, or late, does no harm": doneTwice,
	} {
		t.Run(name, func(t *testing.T) {
			within(t, func(t *testing.T) { check(t, open(t)) })
		})
	}
}

// InRealTime runs a check without a simulated clock.
func InRealTime(t *testing.T, check func(*testing.T)) { check(t) }

func id(n byte) string {
	b := []byte("00000000000000000000000000000000")
	b[31] += n
	return string(b)
}

func send(t *testing.T, q jobs.Queue, after time.Duration, messages ...jobs.Message) {
	t.Helper()
	if err := q.Send(t.Context(), after, messages...); err != nil {
		t.Fatal(err)
	}
}

// receive waits for a message, and fails the test after patience.
func receive(t *testing.T, q jobs.Queue, hold time.Duration) jobs.Delivery {
	t.Helper()
	ctx, done := context.WithTimeout(t.Context(), patience)
	defer done()
	d, err := q.Receive(ctx, hold)
	if err != nil {
		t.Fatalf("nothing was received: %v", err)
	}
	return d
}

// none checks that no message can be received, now and for a quarter of Hold.
func none(t *testing.T, q jobs.Queue) {
	t.Helper()
	ctx, done := context.WithTimeout(t.Context(), Hold/4)
	defer done()
	if d, err := q.Receive(ctx, Hold); err == nil {
		t.Fatalf("received %+v, want nothing", d)
	}
}

func finish(t *testing.T, q jobs.Queue, d jobs.Delivery) {
	t.Helper()
	if err := q.Done(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

func arrives(t *testing.T, q jobs.Queue) {
	want := jobs.Message{Job: id(1), Stage: "shards", Part: 7, Kind: "k", Object: []string{"a $", "ü\"\n"}}
	send(t, q, 0, want)
	d := receive(t, q, soon)
	if diff := cmp.Diff(want, d.Message); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	finish(t, q, d)
	none(t, q)
}

func once(t *testing.T, q jobs.Queue) {
	seen := map[string]bool{}
	for n := range byte(5) {
		send(t, q, 0, jobs.Message{Job: id(n)})
	}
	for range 5 {
		d := receive(t, q, 30*time.Second)
		if seen[d.Job] {
			t.Errorf("%s was received twice", d.Job)
		}
		seen[d.Job] = true
		finish(t, q, d)
	}
	none(t, q)
}

// many sends more messages than SQS accepts in one request.
func many(t *testing.T, q jobs.Queue) {
	const parts = 25
	var messages []jobs.Message
	for n := range parts {
		messages = append(messages, jobs.Message{Job: id(1), Stage: "shards", Part: n + 1})
	}
	send(t, q, 0, messages...)
	seen := map[int]bool{}
	for range parts {
		d := receive(t, q, 30*time.Second)
		seen[d.Part] = true
		finish(t, q, d)
	}
	if len(seen) != parts {
		t.Errorf("%d of %d parts were received", len(seen), parts)
	}
	none(t, q)
}

// shorter covers functions that receive messages with a very long hold. Their worker shortens it,
// so that the message comes again soon if the worker dies.
func shorter(t *testing.T, q jobs.Queue) {
	send(t, q, 0, jobs.Message{Job: id(1)})
	d := receive(t, q, time.Hour)
	if err := q.Extend(t.Context(), d, Hold); err != nil {
		t.Fatal(err)
	}
	finish(t, q, receive(t, q, soon))
	none(t, q)
}

func again(t *testing.T, q jobs.Queue) {
	send(t, q, 0, jobs.Message{Job: id(1)})
	first := receive(t, q, Hold)
	none(t, q)
	second := receive(t, q, soon)
	if first.Job != second.Job || first.Receipt == second.Receipt {
		t.Errorf("got %+v and then %+v, want the same message in two deliveries", first, second)
	}
	finish(t, q, second)
	none(t, q)
}

func held(t *testing.T, q jobs.Queue) {
	send(t, q, 0, jobs.Message{Job: id(1)})
	d := receive(t, q, Hold)
	if err := q.Extend(t.Context(), d, 3*Hold); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	second := receive(t, q, soon)
	if waited := time.Since(begun); waited < 2*Hold {
		t.Errorf("it came again after %v, want after 3 s", waited)
	}
	finish(t, q, second)
}

func later(t *testing.T, q jobs.Queue) {
	begun := time.Now()
	send(t, q, 2*Hold, jobs.Message{Job: id(1)})
	none(t, q)
	d := receive(t, q, soon)
	if waited := time.Since(begun); waited < 3*Hold/2 {
		t.Errorf("it came after %v, want after 2 s", waited)
	}
	finish(t, q, d)
}

func ends(t *testing.T, q jobs.Queue) {
	ctx, done := context.WithTimeout(t.Context(), Hold/10)
	defer done()
	if _, err := q.Receive(ctx, Hold); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want that the deadline was exceeded", err)
	}
}

func doneTwice(t *testing.T, q jobs.Queue) {
	send(t, q, 0, jobs.Message{Job: id(1)})
	d := receive(t, q, Hold)
	finish(t, q, d)
	finish(t, q, d)
	none(t, q)
}
