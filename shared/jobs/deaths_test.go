package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// endless is a job that ends only with its worker.
type endless struct{ runs atomic.Int32 }

func (e *endless) do(ctx context.Context, _ *jobs.Run) (any, error) {
	e.runs.Add(1)
	<-ctx.Done()
	return nil, ctx.Err()
}

// die takes the unit of a message as a worker does that dies during it.
func die(t *testing.T, h *house, m jobs.Message) error {
	t.Helper()
	_, _, err := h.Transactions.Take(t.Context(), transaction.Unit{Job: m.Job, Stage: m.Stage, Part: m.Part}, h.Name(), 90*time.Second)
	time.Sleep(5 * time.Minute)
	return err
}

// crowd begins jobs and takes all of them, as a process with many workers does that then dies.
func crowd(t *testing.T, h *house, ids []string, deaths int) {
	t.Helper()
	for range deaths {
		for _, id := range ids {
			if _, _, err := h.Transactions.Take(t.Context(), transaction.Unit{Job: id}, h.Name(), 90*time.Second); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(5 * time.Minute)
	}
}

// A process that dies twice for another reason sets none of the jobs aside that it ran.
func TestJobsThatWereThereWhenAProcessDiedGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(memstore.New(), new(memqueue.Queue), count(func(int) {}))
		ids := []string{h.begin(t, 1), h.begin(t, 2), h.begin(t, 3)}
		crowd(t, h, ids, 2)
		for i, id := range ids {
			wantEnd(t, h.serve(t, id), transactionapi.Succeeded, fmt.Sprint(i+1))
		}
	})
}

// After its process has died, of the jobs that it ran one runs at a time, so that the one that ends its process does
// not have the others set aside. Other jobs run beside.
func TestSuspectsRunOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var suspects, others, most, mostOthers atomic.Int32
		h := newHouse(memstore.New(), new(memqueue.Queue), jobs.Single("s", func(_ context.Context, r *jobs.Run) (any, error) {
			var suspect bool
			if err := r.Input(&suspect); err != nil {
				return nil, err
			}
			now, top := &others, &mostOthers
			if suspect {
				now, top = &suspects, &most
			}
			n := now.Add(1)
			defer now.Add(-1)
			top.Store(max(top.Load(), n))
			time.Sleep(time.Minute)
			return 0, nil
		}))
		var ids []string
		for range 4 {
			ids = append(ids, h.begin(t, true))
		}
		crowd(t, h, ids, 1)
		for range 4 {
			ids = append(ids, h.begin(t, false))
		}
		for _, id := range ids {
			wantEnd(t, h.serve(t, id), transactionapi.Succeeded, "0")
		}
		if most.Load() != 1 || mostOthers.Load() < 2 {
			t.Errorf("%d suspects and %d others ran at the same time, want 1 and more than 1", most.Load(), mostOthers.Load())
		}
	})
}

func TestJobThatEndsItsProcessRepeatedlyIsSetAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, part := range []int{0, 2} {
			kind := parts(3, func(int) error { return nil })
			kind.Poll = func(context.Context, []string) (*jobs.Trigger, error) { return &jobs.Trigger{Revision: "v1"}, nil }
			h := newHouse(memstore.New(), new(memqueue.Queue), kind)
			poll := jobs.Message{Kind: "k", Object: []string{"t"}}
			if err := h.Do(t.Context(), poll); err != nil {
				t.Fatal(err)
			}
			begun, _, err := h.Transactions.Jobs(t.Context(), "", 10)
			if err != nil || len(begun) != 1 {
				t.Fatalf("%d jobs, %v", len(begun), err)
			}
			m := jobs.Message{Job: begun[0].ID}
			if part > 0 {
				if err := h.Do(t.Context(), m); err != nil {
					t.Fatal(err)
				}
				m.Stage, m.Part = "parts", part
			}
			for range transaction.MaxDeaths {
				if err := die(t, h, m); err != nil {
					t.Fatal(err)
				}
			}
			got := h.serve(t, m.Job)
			want := "the job ended the process of its worker 3 times; it is set aside until the job is resumed"
			if part > 0 {
				want = "part 2 of stage parts ended the process of its worker 3 times; it is set aside until the job is resumed"
			}
			if got.Status != transactionapi.Failed || !got.Work.SetAside || got.Failure != want {
				t.Errorf("the job is %v (%s), want it set aside", got.Status, got.Failure)
			}
			if err := errors.Join(h.Do(t.Context(), m), h.Do(t.Context(), poll)); err != nil {
				t.Fatal(err)
			}
			if begun, _, _ := h.Transactions.Jobs(t.Context(), "", 10); len(begun) != 1 {
				t.Errorf("%d jobs: another was begun for the same", len(begun))
			}
			if resumed, _, err := h.Resume(t.Context(), transaction.Unit{Job: m.Job}, time.Now()); err != nil || !resumed {
				t.Errorf("resumed: %v, %v", resumed, err)
			}
			wantEnd(t, h.serve(t, m.Job), transactionapi.Succeeded, "6")
			if err := h.Do(t.Context(), poll); err != nil {
				t.Fatal(err)
			}
			if begun, _, _ := h.Transactions.Jobs(t.Context(), "", 10); len(begun) != 2 {
				t.Errorf("%d jobs, want another after the first was resumed", len(begun))
			}
		}
	})
}

// cancel ends a job as a user does who alters its transaction.
func cancel(t *testing.T, h *house, id string) {
	t.Helper()
	ref, err := transaction.ParseID([]string{id})
	if err != nil {
		t.Fatal(err)
	}
	canceled := []transactionapi.Action{{SetStatus: &transactionapi.SetStatusAction{Status: transactionapi.Canceled}}}
	if _, err := h.Transactions.Alter(t.Context(), ref, canceled); err != nil {
		t.Fatal(err)
	}
}

func TestJobStaysSetAsideWhenItIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(memstore.New(), new(memqueue.Queue), count(func(int) { t.Error("the job goes on") }))
		m := jobs.Message{Job: h.begin(t, 1)}
		_, _, _ = die(t, h, m), die(t, h, m), die(t, h, m)
		if got := h.serve(t, m.Job); !got.Work.SetAside {
			t.Fatalf("the job is %v, want it set aside", got.Status)
		}
		cancel(t, h, m.Job)
		if resumed, _, err := h.Resume(t.Context(), transaction.Unit{Job: m.Job}, time.Now()); resumed || !errors.Is(err, transaction.ErrEnded) {
			t.Errorf("resumed: %v, %v; want ErrEnded", resumed, err)
		}
		got := h.serve(t, m.Job)
		if shown := got.Describe(); got.Status != transactionapi.Canceled || shown["error"] != "" {
			t.Errorf("the job is %v, with the properties %v", got.Status, shown)
		}
		events := told(h.events(t, m.Job), "", 0)
		if last := events[len(events)-1]; last != "cancelled" {
			t.Errorf("the events are %q, want cancelled at the end", events)
		}
		time.Sleep(transaction.Retention)
		if _, err := h.Transactions.Job(t.Context(), transaction.Unit{Job: m.Job}); protocol.CodeOf(err) != protocol.TransactionNotFound {
			t.Errorf("long after its end: %v, want TransactionNotFound", err)
		}
	})
}

func TestJobOnAChangedObjectIsNotSetAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		version := 1
		kind := count(func(int) {})
		kind.Poll = func(context.Context, []string) (*jobs.Trigger, error) {
			return &jobs.Trigger{Revision: fmt.Sprint(version)}, nil
		}
		h := newHouse(memstore.New(), new(memqueue.Queue), kind)
		poll := jobs.Message{Kind: "k", Object: []string{"t"}}
		for _, want := range []int{1, 1, 2} {
			if err := h.Do(t.Context(), poll); err != nil {
				t.Fatal(err)
			}
			begun, _, _ := h.Transactions.Jobs(t.Context(), "", 10)
			if len(begun) != want {
				t.Fatalf("%d jobs of version %d, want %d", len(begun), version, want)
			}
			m := jobs.Message{Job: begun[0].ID}
			if !begun[0].Status.Ended() {
				_, _, _ = die(t, h, m), die(t, h, m), die(t, h, m)
				if err := h.Do(t.Context(), m); err != nil {
					t.Fatal(err)
				}
				continue
			}
			version++
		}
	})
}

// dropping loses all messages.
type dropping struct{ *memqueue.Queue }

func (dropping) Send(context.Context, time.Duration, ...jobs.Message) error {
	return errors.New("the queue is out of order")
}

func TestLostMessagesAreMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objects := memstore.New()
		queue := new(memqueue.Queue)
		kind := staged(func(string, int) {})
		broken := newHouse(objects, dropping{queue}, kind)
		if _, err := broken.Begin(t.Context(), "k", []string{"t"}, nil); err == nil {
			t.Fatal("the queue is not out of order")
		}
		h := newHouse(objects, queue, kind)
		begun, _, err := h.Transactions.Jobs(t.Context(), "", 1)
		if err != nil {
			t.Fatal(err)
		}
		id := begun[0].ID
		for tries := 0; ; tries++ {
			got, err := h.Transactions.Job(t.Context(), transaction.Unit{Job: id})
			if err != nil {
				t.Fatal(err)
			}
			if got.Status.Ended() {
				wantEnd(t, got, transactionapi.Succeeded, stagedResult)
				return
			}
			if err := h.Revive(t.Context(), got, time.Now()); err != nil || tries > 20 {
				t.Fatalf("after %d tries: %+v, %v", tries, got.Work, err)
			}
			for { // each message is worked on, and those that follow it are lost
				ctx, done := context.WithTimeout(t.Context(), time.Second)
				d, err := queue.Receive(ctx, time.Hour)
				done()
				if err != nil {
					break
				}
				_ = broken.Do(t.Context(), d.Message)
				if tries%2 == 1 {
					_ = h.Do(t.Context(), d.Message)
				}
				if err := queue.Done(t.Context(), d); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(2 * transaction.Slack)
		}
	})
}

func TestJobLookSendsForTheJobOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := new(memqueue.Queue)
		h := newHouse(memstore.New(), queue, count(func(int) {}))
		id := h.begin(t, 1)
		if _, err := queue.Receive(t.Context(), 24*time.Hour); err != nil { // by a worker that is lost with it
			t.Fatal(err)
		}
		for _, wait := range []time.Duration{0, transaction.Slack / 2, transaction.Slack, 0, time.Minute} {
			time.Sleep(wait)
			got, err := h.Transactions.Job(t.Context(), transaction.Unit{Job: id})
			if err != nil {
				t.Fatal(err)
			}
			if err := h.Revive(t.Context(), got, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		sent := 0
		for {
			ctx, done := context.WithTimeout(t.Context(), time.Minute)
			_, err := queue.Receive(ctx, 24*time.Hour)
			done()
			if err != nil {
				break
			}
			sent++
		}
		if sent != 1 {
			t.Errorf("%d messages were sent for the lost one, want 1", sent)
		}
	})
}

func TestBuryEndsTheJobOfAMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(memstore.New(), new(memqueue.Queue), parts(3, func(int) error { return nil }))
		for _, part := range []int{0, 2} {
			m := jobs.Message{Job: h.begin(t, nil)}
			if part > 0 {
				if err := h.Do(t.Context(), m); err != nil {
					t.Fatal(err)
				}
				m.Stage, m.Part = "parts", part
			}
			if err := h.Bury(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			got, err := h.Transactions.Job(t.Context(), transaction.Unit{Job: m.Job})
			if err != nil || got.Status != transactionapi.Failed || !got.Work.SetAside || got.Failure == "" {
				t.Errorf("part %d: the job is %v (%s), %v", part, got.Status, got.Failure, err)
			}
			if _, _, err := h.Resume(t.Context(), transaction.Unit{Job: m.Job}, time.Now()); err != nil {
				t.Fatal(err)
			}
			wantEnd(t, h.serve(t, m.Job), transactionapi.Succeeded, "6")
		}
	})
}

// Two minutes after a worker has died, another one gets its message and its job, no matter how long
// the job takes.
func TestWorkerThatDiesHandsItsJobOnSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := new(memqueue.Queue)
		d := new(endless)
		objects := memstore.New()
		var dead atomic.Bool
		faulty := faultstore.New(objects, func(faultstore.Call) faultstore.Fault { return faultstore.Fault{Crash: dead.Load()} })
		h := newHouse(faulty, queue, jobs.Single("s", d.do))
		id := h.begin(t, nil)
		ctx, stop := context.WithCancel(t.Context())
		got, err := queue.Receive(ctx, 16*time.Minute) // as an event source does
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- h.DoHeld(ctx, queue, got) }()
		time.Sleep(10 * time.Minute)
		if d.runs.Load() != 1 {
			t.Fatalf("%d runs while its worker lived", d.runs.Load())
		}
		dead.Store(true)
		stop()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		died := time.Now()
		second := newHouse(objects, queue, jobs.Single("s", func(context.Context, *jobs.Run) (any, error) { return 0, nil }))
		wantEnd(t, second.serve(t, id), transactionapi.Succeeded, "0")
		if waited := time.Since(died); waited > 3*time.Minute {
			t.Errorf("the next worker went on after %v", waited)
		}
	})
}
