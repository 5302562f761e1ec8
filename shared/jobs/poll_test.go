package jobs_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/objectstore/memstore"
)

// polled holds jobs that begin by themselves, as poll decides, and the number of polls.
type polled struct {
	*house
	polls int
	poll  func() (*jobs.Trigger, error)
}

var pollMessage = jobs.Message{Kind: "k", Object: []string{"t"}}

func newPolled() *polled {
	l := &polled{poll: func() (*jobs.Trigger, error) { return &jobs.Trigger{Input: 3, Revision: "v1"}, nil }}
	kind := count(func(int) {})
	kind.Poll = func(context.Context, []string) (*jobs.Trigger, error) { l.polls++; return l.poll() }
	l.house = newHouse(memstore.New(), new(memqueue.Queue), kind)
	return l
}

// die starts a poll as a worker does that dies during it.
func (l *polled) die(t *testing.T) {
	t.Helper()
	poll := transaction.PollOf(pollMessage.Kind, pollMessage.Object)
	if _, _, err := l.Transactions.Take(t.Context(), poll, l.Name(), 90*time.Second); err != nil {
		t.Fatal(err)
	}
	time.Sleep(5 * time.Minute)
}

func (l *polled) do(t *testing.T) {
	t.Helper()
	if err := l.Do(t.Context(), pollMessage); err != nil {
		t.Fatal(err)
	}
}

func (l *polled) jobs(t *testing.T) []*transaction.Transaction {
	t.Helper()
	jobs, _, err := l.Transactions.Jobs(t.Context(), "", 10)
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}

func TestPollThatEndsItsProcessRepeatedlyIsSetAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPolled()
		for range transaction.MaxDeaths {
			l.die(t)
		}
		for range 3 {
			l.do(t)
		}
		jobs := l.jobs(t)
		if l.polls != 0 || len(jobs) != 1 {
			t.Fatalf("%d polls after the last death, %d jobs that tell of them, want 0 and 1", l.polls, len(jobs))
		}
		got := jobs[0]
		if got.Status != transactionapi.Failed || !got.Work.SetAside || got.Kind != "k" || len(got.Object) != 1 || got.Object[0] != "t" ||
			!strings.Contains(got.Failure, "ended the process of its worker 3 times; it is set aside until the job is resumed") {
			t.Errorf("the job is %+v, %v (%s), want it set aside", got, got.Status, got.Failure)
		}
		if _, err := l.ReviveAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		if jobs := l.jobs(t); len(jobs) != 1 || jobs[0].Status != transactionapi.Failed {
			t.Errorf("it goes on by itself: %v", jobs[0].Status)
		}
		if resumed, _, err := l.Resume(t.Context(), transaction.Unit{Job: got.ID}, time.Now()); err != nil || !resumed {
			t.Fatalf("resumed: %v, %v", resumed, err)
		}
		wantEnd(t, l.serve(t, got.ID), transactionapi.Succeeded, "3")
		l.do(t)
		if l.polls != 2 || len(l.jobs(t)) != 2 {
			t.Errorf("%d polls and %d jobs, want the job's own poll, another, and its job", l.polls, len(l.jobs(t)))
		}
	})
}

// When a resumed poll dies again, its job is set aside again; when it finds nothing to do, its job
// ends.
func TestPollThatIsResumedMayDieOrFindNothing(t *testing.T) {
	for _, dies := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			l := newPolled()
			l.poll = func() (*jobs.Trigger, error) { return nil, nil }
			for range transaction.MaxDeaths {
				l.die(t)
			}
			l.do(t)
			m := jobs.Message{Job: l.jobs(t)[0].ID}
			if _, _, err := l.Resume(t.Context(), transaction.Unit{Job: m.Job}, time.Now()); err != nil {
				t.Fatal(err)
			}
			if !dies {
				wantEnd(t, l.serve(t, m.Job), transactionapi.Succeeded, "null")
				return
			}
			_, _, _ = die(t, l.house, m), die(t, l.house, m), die(t, l.house, m)
			if got := l.serve(t, m.Job); got.Status != transactionapi.Failed || !got.Work.SetAside {
				t.Errorf("the job is %v, set aside: %v", got.Status, got.Work.SetAside)
			}
			l.do(t)
			if l.polls != 0 || len(l.jobs(t)) != 1 {
				t.Errorf("%d polls and %d jobs, want none and the one", l.polls, len(l.jobs(t)))
			}
		})
	}
}

// A user ends the job that stands for a poll instead of resuming it. The poll stays set aside, and when the
// record of the job has expired, another job tells users so.
func TestPollStaysSetAsideWhenItsJobIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPolled()
		for range transaction.MaxDeaths {
			l.die(t)
		}
		l.do(t)
		first := l.jobs(t)[0].ID
		cancel(t, l.house, first)
		for range 2 {
			l.do(t)
			if jobs := l.jobs(t); l.polls != 0 || len(jobs) != 1 || jobs[0].ID != first {
				t.Fatalf("%d polls and %d jobs, want none and the one that was cancelled", l.polls, len(jobs))
			}
			time.Sleep(transaction.Retention / 3)
		}
		time.Sleep(transaction.Retention)
		l.do(t)
		jobs := l.jobs(t)
		if l.polls != 0 || len(jobs) != 1 || jobs[0].ID == first {
			t.Fatalf("%d polls and %d jobs, want none and another one", l.polls, len(jobs))
		}
		if resumed, _, err := l.Resume(t.Context(), transaction.Unit{Job: jobs[0].ID}, time.Now()); err != nil || !resumed {
			t.Fatalf("resumed: %v, %v", resumed, err)
		}
		wantEnd(t, l.serve(t, jobs[0].ID), transactionapi.Succeeded, "3")
	})
}

// Polls that end are not deaths: polls that find nothing, fail, take long, run in parallel, or end
// with a program that stops normally.
func TestPollsThatEndAreNoDeaths(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPolled()
		ends := map[string]func() (*jobs.Trigger, error){
			"nothing": func() (*jobs.Trigger, error) { return nil, nil },
			"failure": func() (*jobs.Trigger, error) { return nil, errors.New("the storage is gone") },
			"long":    func() (*jobs.Trigger, error) { time.Sleep(time.Hour); return nil, nil },
		}
		for range 3 {
			for _, l.poll = range ends {
				l.do(t)
			}
			ctx, stop := context.WithCancel(t.Context())
			l.poll = func() (*jobs.Trigger, error) { stop(); return nil, ctx.Err() }
			if err := l.Do(ctx, pollMessage); !errors.Is(err, context.Canceled) {
				t.Errorf("a poll whose program stops: %v, want its message to come again", err)
			}
		}
		before := l.polls
		l.poll = func() (*jobs.Trigger, error) { time.Sleep(10 * time.Minute); return nil, nil }
		done := make(chan struct{})
		go func() { defer close(done); l.do(t) }()
		for range 5 {
			time.Sleep(time.Minute)
			l.do(t)
		}
		<-done
		if l.polls != before+1 {
			t.Errorf("%d polls at a time, want 1", l.polls-before)
		}
		if jobs := l.jobs(t); len(jobs) != 0 {
			t.Errorf("%d jobs, want none: %s", len(jobs), jobs[0].Failure)
		}
	})
}
