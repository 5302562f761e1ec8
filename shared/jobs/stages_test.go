package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// staged is jobs of four stages, two of them in parts. Each part of the second adds the number
// that the first came to, and each of the third the sum of the second.
func staged(visit func(stage string, part int)) jobs.Kind {
	inParts := func(n int) func(context.Context, *jobs.Run) (int, error) {
		return func(context.Context, *jobs.Run) (int, error) { return n, nil }
	}
	do := func(before string) func(context.Context, *jobs.Run) (any, error) {
		return func(ctx context.Context, r *jobs.Run) (any, error) {
			part, _ := r.Part()
			visit(r.Stage(), part)
			sum, err := sumOf(before)(ctx, r)
			if err != nil {
				return nil, err
			}
			r.Progress(jobs.Progress{Rows: 10})
			return part + sum.(int), nil
		}
	}
	return jobs.Kind{Stages: []jobs.Stage{
		{Name: "train", Do: func(context.Context, *jobs.Run) (any, error) { visit("train", 1); return 100, nil }},
		{Name: "shards", Parts: inParts(3), Do: do("train")},
		{Name: "merge", Parts: inParts(2), Do: do("shards")},
		{Name: "commit", Do: sumOf("merge")},
	}}
}

// The parts of the third stage come to 306+1 and 306+2.
const stagedResult = "615"

func TestStageHasItsOwnParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		visits := map[string]int{}
		h := newHouse(memstore.New(), new(memqueue.Queue), staged(func(stage string, part int) {
			mu.Lock()
			defer mu.Unlock()
			visits[fmt.Sprint(stage, part)]++
		}))
		got := h.serve(t, h.begin(t, nil))
		wantEnd(t, got, transactionapi.Succeeded, stagedResult)
		for _, part := range []string{"train1", "shards1", "shards2", "shards3", "merge1", "merge2"} {
			if visits[part] != 1 {
				t.Errorf("the parts were done so often: %v", visits)
			}
		}
		if w := got.Work; w.StagesDone != 4 || w.Stages != 4 || w.Stage != "commit" || got.Rows != 20 {
			t.Errorf("it tells %+v and %d rows", w, got.Rows)
		}
	})
}

// The end of a part never waits for that of another one, and costs the same for any number of
// parts.
func TestPartsThatEndTogetherAreAllJoined(t *testing.T) {
	requests := map[int]int{}
	for _, n := range []int{1, 2, 31, 32, 33, 250, 1000} {
		objects := faultstore.New(memstore.New(), nil)
		h := newHouse(objects, new(memqueue.Queue), parts(n, func(int) error { return nil }))
		id := h.begin(t, nil)
		first, err := h.Queue.Receive(t.Context(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Do(t.Context(), first.Message); err != nil {
			t.Fatal(err)
		}
		objects.Reset()
		var wait sync.WaitGroup
		for part := range n {
			wait.Go(func() {
				if err := h.Do(t.Context(), jobs.Message{Job: id, Stage: "parts", Part: part + 1}); err != nil {
					t.Errorf("part %d: %v", part+1, err)
				}
			})
		}
		wait.Wait()
		requests[n] = objects.Snapshot().Requests / n
		if err := h.Do(t.Context(), jobs.Message{Job: id}); err != nil {
			t.Fatal(err)
		}
		got, err := h.Transactions.Job(t.Context(), transaction.Unit{Job: id})
		if err != nil {
			t.Fatal(err)
		}
		wantEnd(t, got, transactionapi.Succeeded, fmt.Sprint(n*(n+1)/2))
		joins := 0
		for { // what is left in the queue: the parts' messages, and that of the last of them
			ctx, done := context.WithTimeout(t.Context(), time.Second)
			d, err := h.Queue.Receive(ctx, time.Hour)
			done()
			if err != nil {
				break
			}
			if d.Part == 0 {
				joins++
			}
		}
		if joins != 1 {
			t.Errorf("%d parts sent for their job %d times, want once", n, joins)
		}
	}
	t.Log("requests for each part:", requests)
	if requests[1000] > 16 {
		t.Errorf("requests for each part: %v, want no more for many", requests)
	}
}

func TestWorkersAtOnceDoNoHarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(memstore.New(), new(memqueue.Queue), staged(func(string, int) { time.Sleep(time.Minute) }))
		id := h.begin(t, nil)
		for i := range 40 { // each message many times, early and late
			m := jobs.Message{Job: id}
			if i%4 > 0 {
				m.Stage, m.Part = []string{"shards", "merge"}[i%2], i%4
			}
			if err := h.Queue.Send(t.Context(), time.Duration(i)*10*time.Second, m); err != nil {
				t.Fatal(err)
			}
		}
		wantEnd(t, h.serve(t, id), transactionapi.Succeeded, stagedResult)
	})
}

// A run that was taken over can no longer write.
func TestWorkerThatWasReplacedIsShutOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(memstore.New(), new(memqueue.Queue), count(func(int) {}))
		unit := transaction.Unit{Job: h.begin(t, 1)}
		for _, name := range []string{"first", "second"} {
			if _, _, err := h.Transactions.Take(t.Context(), unit, name, time.Minute); err != nil {
				t.Fatal(err)
			}
			time.Sleep(61 * time.Second)
		}
		change := func(t *transaction.Transaction) { t.Status = transactionapi.Succeeded }
		if _, err := h.Transactions.Leave(t.Context(), unit, "first", 0, change); !errors.Is(err, transaction.ErrHeld) {
			t.Errorf("the first leaves with %v, want ErrHeld", err)
		}
		if _, err := h.Transactions.Keep(t.Context(), unit, "first", time.Minute, change); !errors.Is(err, transaction.ErrHeld) {
			t.Errorf("the first keeps it with %v, want ErrHeld", err)
		}
	})
}

func TestProgressIsToldWhileItWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(memstore.New(), new(memqueue.Queue), jobs.Kind{Stages: []jobs.Stage{
			{Name: "train", Do: func(_ context.Context, r *jobs.Run) (any, error) {
				for n := range int64(100) {
					r.Progress(jobs.Progress{Done: n, Total: 100, Rows: 1000 * n})
					time.Sleep(700 * time.Millisecond)
				}
				return nil, nil
			}},
			{Name: "shards", Parts: func(context.Context, *jobs.Run) (int, error) { return 6, nil }, Do: func(_ context.Context, r *jobs.Run) (any, error) {
				time.Sleep(time.Minute)
				r.Progress(jobs.Progress{Rows: 7})
				return nil, nil
			}},
			{Name: "commit", Do: func(context.Context, *jobs.Run) (any, error) { time.Sleep(time.Hour); return nil, nil }},
		}})
		id := h.begin(t, nil)
		seen := func(after time.Duration, want map[string]string) {
			time.AfterFunc(after, func() {
				got, err := h.Transactions.Job(context.Background(), transaction.Unit{Job: id})
				if err != nil {
					t.Error(err)
					return
				}
				for name, value := range want {
					if shown := got.Describe()[name]; shown != value {
						t.Errorf("after %v %s is %q, want %q", after, name, shown, value)
					}
				}
			})
		}
		seen(50*time.Second, map[string]string{"stage": "train", "stages": "0/3", "progress": "64/100", "rows": "64000"})
		seen(140*time.Second, map[string]string{"stage": "shards", "stages": "1/3", "parts": "3/6", "rows": "21"})
		seen(300*time.Second, map[string]string{"stage": "commit", "stages": "2/3", "rows": "42"})
		wantEnd(t, h.serve(t, id), transactionapi.Succeeded, "null")
	})
}

func TestPartHandsOverBeforeItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := 0
		h := newHouse(memstore.New(), new(memqueue.Queue), jobs.Kind{Stages: []jobs.Stage{
			{Name: "shards", Parts: func(context.Context, *jobs.Run) (int, error) { return 1, nil }, Do: func(ctx context.Context, r *jobs.Run) (any, error) {
				var at int
				if err := r.State(&at); err != nil {
					return nil, err
				}
				for at < 20 {
					steps++
					time.Sleep(25 * time.Second)
					at++
					if err := r.Checkpoint(ctx, at); err != nil {
						return nil, err
					}
				}
				return at, nil
			}},
			{Name: "commit", Do: sumOf("shards")},
		}})
		id := h.begin(t, nil)
		for range 20 {
			ctx, done := context.WithTimeout(t.Context(), 3*time.Minute)
			d, err := h.Queue.Receive(ctx, time.Hour)
			if err == nil {
				err = h.Do(ctx, d.Message)
			}
			done()
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := h.Transactions.Job(t.Context(), transaction.Unit{Job: id}); got.Status.Ended() {
				wantEnd(t, got, transactionapi.Succeeded, "20")
				if steps != 20 {
					t.Errorf("%d steps were done, want each once", steps)
				}
				return
			}
		}
		t.Error("the job does not end")
	})
}

// A user can cancel, pause and resume a job in the middle of any stage, with and without parts.
func TestStageCanBeCancelledPausedAndResumed(t *testing.T) {
	for _, at := range []string{"train1", "shards2", "merge1"} {
		for _, cancel := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				var h *house
				var id string
				asked := false
				h = newHouse(memstore.New(), new(memqueue.Queue), staged(func(stage string, part int) {
					time.Sleep(time.Second)
					if fmt.Sprint(stage, part) != at || asked {
						return
					}
					asked = true
					if cancel {
						_, err := h.Transactions.Advance(t.Context(), transaction.Unit{Job: id}, func(t *transaction.Transaction) { t.Status = transactionapi.Canceled })
						if err != nil {
							t.Error(err)
						}
						return
					}
					if _, err := h.Pause(t.Context(), transaction.Unit{Job: id}); err != nil {
						t.Error(err)
					}
					time.AfterFunc(time.Hour, func() {
						if got, _ := h.Transactions.Job(context.Background(), transaction.Unit{Job: id}); got.Status.Ended() {
							t.Errorf("%s: the job ended while it was paused", at)
						}
						if resumed, _, err := h.Resume(context.Background(), transaction.Unit{Job: id}, time.Now()); err != nil || !resumed {
							t.Errorf("%s: resumed %v, %v", at, resumed, err)
						}
					})
				}))
				id = h.begin(t, nil)
				got := h.serve(t, id)
				if cancel {
					wantEnd(t, got, transactionapi.Canceled, "")
				} else {
					wantEnd(t, got, transactionapi.Succeeded, stagedResult)
				}
			})
		}
	}
}

// The worker that sent the messages of the parts died before it recorded that. When one of the
// parts is set aside and resumed, it continues at once nevertheless.
func TestPartThatIsResumedIsSentForAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(memstore.New(), new(memqueue.Queue), parts(3, func(int) error { return nil }))
		m := jobs.Message{Job: h.begin(t, nil)}
		if err := h.Do(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Transactions.Advance(t.Context(), transaction.Unit{Job: m.Job}, func(t *transaction.Transaction) { t.Work.Sent = time.Time{} }); err != nil {
			t.Fatal(err)
		}
		m.Stage, m.Part = "parts", 2
		_, _, _ = die(t, h, m), die(t, h, m), die(t, h, m)
		if got := h.serve(t, m.Job); !got.Work.SetAside {
			t.Fatalf("the job is %v, want it set aside", got.Status)
		}
		resumed := time.Now()
		if _, _, err := h.Resume(t.Context(), transaction.Unit{Job: m.Job}, resumed); err != nil {
			t.Fatal(err)
		}
		wantEnd(t, h.serve(t, m.Job), transactionapi.Succeeded, "6")
		if waited := time.Since(resumed); waited > time.Minute {
			t.Errorf("the resumed job has waited for %v", waited)
		}
	})
}

func TestStageCanEndTheJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		later := func(context.Context, *jobs.Run) (any, error) {
			t.Error("a stage after the end was run")
			return nil, nil
		}
		h := newHouse(memstore.New(), new(memqueue.Queue), jobs.Kind{Stages: []jobs.Stage{
			{Name: "first", Do: func(context.Context, *jobs.Run) (any, error) { return 1, nil }},
			{Name: "second", Do: func(context.Context, *jobs.Run) (any, error) { return jobs.End{Result: 2}, nil }},
			{Name: "third", Do: later},
		}})
		got := h.serve(t, h.begin(t, nil))
		wantEnd(t, got, transactionapi.Succeeded, "2")
		if w := got.Work; w.Stage != "second" || w.StagesDone != w.Stages {
			t.Errorf("it tells %+v", w)
		}
	})
}
