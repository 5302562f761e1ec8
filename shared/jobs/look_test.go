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

// looking is jobs that begin by themselves, as wanted says, and the looks that were taken.
type looking struct {
	*house
	looks  int
	wanted func() (*jobs.Want, error)
}

var lookMessage = jobs.Message{Kind: "k", Object: []string{"t"}}

func newLooking() *looking {
	l := &looking{wanted: func() (*jobs.Want, error) { return &jobs.Want{Input: 3, Mark: "v1"}, nil }}
	kind := count(func(int) {})
	kind.Wanted = func(context.Context, []string) (*jobs.Want, error) { l.looks++; return l.wanted() }
	l.house = newHouse(memstore.New(), new(memqueue.Queue), kind)
	return l
}

// die starts a look as a worker does that dies during it.
func (l *looking) die(t *testing.T) {
	t.Helper()
	look := transaction.LookAt(lookMessage.Kind, lookMessage.Object)
	if _, _, err := l.Transactions.Take(t.Context(), look, l.Name(), 90*time.Second); err != nil {
		t.Fatal(err)
	}
	time.Sleep(5 * time.Minute)
}

func (l *looking) do(t *testing.T) {
	t.Helper()
	if err := l.Do(t.Context(), lookMessage); err != nil {
		t.Fatal(err)
	}
}

func (l *looking) jobs(t *testing.T) []*transaction.Transaction {
	t.Helper()
	jobs, _, err := l.Transactions.Jobs(t.Context(), "", 10)
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}

func TestLookThatEndsItsProcessRepeatedlyIsSetAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLooking()
		for range transaction.MaxDeaths {
			l.die(t)
		}
		for range 3 {
			l.do(t)
		}
		jobs := l.jobs(t)
		if l.looks != 0 || len(jobs) != 1 {
			t.Fatalf("%d looks after the last death, %d jobs that tell of them, want 0 and 1", l.looks, len(jobs))
		}
		got := jobs[0]
		if got.Status != transactionapi.Failed || !got.Work.Aside || got.Kind != "k" || len(got.Object) != 1 || got.Object[0] != "t" ||
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
		if l.looks != 2 || len(l.jobs(t)) != 2 {
			t.Errorf("%d looks and %d jobs, want the job's own look, another, and its job", l.looks, len(l.jobs(t)))
		}
	})
}

// When a resumed look dies again, its job is set aside again; when it finds nothing to do, its job
// ends.
func TestLookThatIsResumedMayDieOrFindNothing(t *testing.T) {
	for _, dies := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			l := newLooking()
			l.wanted = func() (*jobs.Want, error) { return nil, nil }
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
			if got := l.serve(t, m.Job); got.Status != transactionapi.Failed || !got.Work.Aside {
				t.Errorf("the job is %v, aside: %v", got.Status, got.Work.Aside)
			}
			l.do(t)
			if l.looks != 0 || len(l.jobs(t)) != 1 {
				t.Errorf("%d looks and %d jobs, want none and the one", l.looks, len(l.jobs(t)))
			}
		})
	}
}

// A user ends the job that stands for a look instead of resuming it. The look stays set aside, and when the
// record of the job has expired, another job tells users so.
func TestLookStaysSetAsideWhenItsJobIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLooking()
		for range transaction.MaxDeaths {
			l.die(t)
		}
		l.do(t)
		first := l.jobs(t)[0].ID
		cancel(t, l.house, first)
		for range 2 {
			l.do(t)
			if jobs := l.jobs(t); l.looks != 0 || len(jobs) != 1 || jobs[0].ID != first {
				t.Fatalf("%d looks and %d jobs, want none and the one that was cancelled", l.looks, len(jobs))
			}
			time.Sleep(transaction.Retention / 3)
		}
		time.Sleep(transaction.Retention)
		l.do(t)
		jobs := l.jobs(t)
		if l.looks != 0 || len(jobs) != 1 || jobs[0].ID == first {
			t.Fatalf("%d looks and %d jobs, want none and another one", l.looks, len(jobs))
		}
		if resumed, _, err := l.Resume(t.Context(), transaction.Unit{Job: jobs[0].ID}, time.Now()); err != nil || !resumed {
			t.Fatalf("resumed: %v, %v", resumed, err)
		}
		wantEnd(t, l.serve(t, jobs[0].ID), transactionapi.Succeeded, "3")
	})
}

// Looks that end are not deaths: looks that find nothing, fail, take long, run in parallel, or end
// with a program that stops normally.
func TestLooksThatEndAreNoDeaths(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLooking()
		ends := map[string]func() (*jobs.Want, error){
			"nothing": func() (*jobs.Want, error) { return nil, nil },
			"failure": func() (*jobs.Want, error) { return nil, errors.New("the storage is gone") },
			"long":    func() (*jobs.Want, error) { time.Sleep(time.Hour); return nil, nil },
		}
		for range 3 {
			for _, l.wanted = range ends {
				l.do(t)
			}
			ctx, stop := context.WithCancel(t.Context())
			l.wanted = func() (*jobs.Want, error) { stop(); return nil, ctx.Err() }
			if err := l.Do(ctx, lookMessage); !errors.Is(err, context.Canceled) {
				t.Errorf("a look whose program stops: %v, want its message to come again", err)
			}
		}
		before := l.looks
		l.wanted = func() (*jobs.Want, error) { time.Sleep(10 * time.Minute); return nil, nil }
		done := make(chan struct{})
		go func() { defer close(done); l.do(t) }()
		for range 5 {
			time.Sleep(time.Minute)
			l.do(t)
		}
		<-done
		if l.looks != before+1 {
			t.Errorf("%d looks at a time, want 1", l.looks-before)
		}
		if jobs := l.jobs(t); len(jobs) != 0 {
			t.Errorf("%d jobs, want none: %s", len(jobs), jobs[0].Failure)
		}
	})
}
