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
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/objectstore/memstore"
)

// houses are light workers and those of heavy work over one storage.
type houses struct {
	light, heavy *house

	mu   sync.Mutex        // guards done: both workers note what they do
	done map[string]string // the workers that have done each unit
}

// newHouses returns workers that do jobs of a kind, whose stages note who does them.
func newHouses(kind func(by string, h *houses) jobs.Kind) *houses {
	h := &houses{done: map[string]string{}}
	objects, queue, heavy := memstore.New(), new(memqueue.Queue), new(memqueue.Queue)
	h.light, h.heavy = newHouse(objects, queue, kind("light", h)), newHouse(objects, queue, kind("heavy", h))
	h.light.Heavy, h.heavy.Heavy, h.light.Light = heavy, heavy, true
	return h
}

func (h *houses) did(by string, r *jobs.Run) {
	part, of := r.Part()
	name := r.Stage()
	if of > 1 {
		name = fmt.Sprint(name, part)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.done[name] += by + " "
}

// serve has one worker of each sort work until a job has ended.
func (h *houses) serve(t *testing.T, id string) *transaction.Transaction {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go h.light.ServeFrom(ctx, h.light.Queue, 1)
	go h.heavy.ServeFrom(ctx, h.heavy.Heavy, 1)
	for range 10_000 {
		got, err := h.light.Transactions.Job(t.Context(), transaction.Unit{Job: id})
		if err != nil {
			t.Fatal(err)
		}
		if got.Status.Ended() {
			return got
		}
		time.Sleep(time.Second)
	}
	t.Fatal("the job does not end")
	return nil
}

func (h *houses) want(t *testing.T, got *transaction.Transaction, want map[string]string) {
	t.Helper()
	if got.Status != transactionapi.Succeeded {
		t.Errorf("the job is %v (%s)", got.Status, got.Failure)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, by := range want {
		if h.done[name] != by {
			t.Errorf("%s was done by %q, want %q; all: %v", name, h.done[name], by, h.done)
		}
	}
}

// taking returns the estimate of a stage.
func taking(e jobs.Effort) func(context.Context, *jobs.Run) (jobs.Effort, error) {
	return func(context.Context, *jobs.Run) (jobs.Effort, error) { return e, nil }
}

func TestHeavyStagesAndPartsGoToHeavyWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouses(func(by string, h *houses) jobs.Kind {
			do := func(_ context.Context, r *jobs.Run) (any, error) { h.did(by, r); return 0, nil }
			two := func(context.Context, *jobs.Run) (int, error) { return 2, nil }
			return jobs.Kind{Stages: []jobs.Stage{
				{Name: "small", Estimate: taking(jobs.Effort{Time: 10 * time.Minute, Memory: 3 << 30}), Do: do},
				{Name: "long", Estimate: taking(jobs.Effort{Time: 10*time.Minute + 1}), Do: do},
				{Name: "large", Estimate: taking(jobs.Effort{Memory: 3<<30 + 1}), Parts: two, Do: do},
				{Name: "few", Parts: two, Do: do},
				{Name: "last", Do: do},
			}}
		})
		got := h.serve(t, h.light.begin(t, nil))
		h.want(t, got, map[string]string{
			"small": "light ", "long": "heavy ", "large1": "heavy ", "large2": "heavy ", "few1": "light ", "few2": "light ", "last": "light ",
		})
	})
}

// A run that a light worker is too small for is repeated by one of heavy work, and does not count as a failure.
func TestRunsThatOutgrowALightWorkerGoToHeavyWorkers(t *testing.T) {
	for name, fails := range map[string]func(ctx context.Context) error{
		"memory": func(context.Context) error { return fmt.Errorf("read: %w", &memory.Error{Bytes: 5, Limit: 4}) },
		"time":   func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouses(func(by string, h *houses) jobs.Kind {
					k := parts(3, nil)
					k.Stages[0].Do = func(ctx context.Context, r *jobs.Run) (any, error) {
						h.did(by, r)
						part, _ := r.Part()
						if part == 2 && by == "light" {
							return nil, fails(ctx)
						}
						return part, nil
					}
					return k
				})
				id := h.light.begin(t, nil)
				if name == "time" { // as in a function, whose context ends with its time
					if err := h.light.Do(t.Context(), jobs.Message{Job: id}); err != nil {
						t.Fatal(err)
					}
					ctx, done := context.WithTimeout(t.Context(), time.Minute)
					defer done()
					if err := h.light.Do(ctx, jobs.Message{Job: id, Stage: "parts", Part: 2}); err != nil {
						t.Fatal(err)
					}
				}
				got := h.serve(t, id)
				h.want(t, got, map[string]string{"parts1": "light ", "parts2": "light heavy ", "parts3": "light "})
			})
		})
	}
}

// What has ended the process of a light worker is done by one of heavy work, and is set aside if it ends that as well.
func TestLightWorkerLeavesFatalWorkToHeavyOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouses(func(by string, h *houses) jobs.Kind {
			return jobs.Single("s", func(_ context.Context, r *jobs.Run) (any, error) { h.did(by, r); return 0, nil })
		})
		id := h.light.begin(t, nil)
		if err := die(t, h.light, jobs.Message{Job: id}); err != nil {
			t.Fatal(err)
		}
		h.want(t, h.serve(t, id), map[string]string{"s": "heavy "})

		id = h.light.begin(t, nil)
		m := jobs.Message{Job: id}
		if err := errors.Join(die(t, h.light, m), h.light.Do(t.Context(), m), die(t, h.heavy, m), die(t, h.heavy, m), h.heavy.Do(t.Context(), m)); err != nil {
			t.Fatal(err)
		}
		if got, err := h.light.Transactions.Job(t.Context(), transaction.Unit{Job: id}); err != nil || got.Status != transactionapi.Failed || !got.Work.SetAside {
			t.Errorf("the job is %v, %v; want it set aside", got.Status, err)
		}
	})
}

// A job that was paused while it was heavy goes on with a heavy worker, whatever queue its message is in.
func TestHeavyMessagesAreForHeavyWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouses(func(by string, h *houses) jobs.Kind {
			k := jobs.Single("s", func(_ context.Context, r *jobs.Run) (any, error) { h.did(by, r); return 0, nil })
			k.Stages[0].Estimate = taking(jobs.Effort{Time: time.Hour})
			return k
		})
		id := h.light.begin(t, nil)
		if err := h.light.Do(t.Context(), jobs.Message{Job: id}); err != nil { // which passes it on
			t.Fatal(err)
		}
		ctx, done := context.WithTimeout(t.Context(), time.Second)
		d, err := h.heavy.Heavy.Receive(ctx, time.Minute)
		done()
		if err != nil || !d.Heavy || d.Job != id {
			t.Fatalf("the queue of heavy work has %+v, %v", d, err)
		}
		if err := h.heavy.Heavy.Done(t.Context(), d); err != nil { // it is lost
			t.Fatal(err)
		}
		time.Sleep(2 * transaction.Slack)
		if err := h.light.Do(t.Context(), jobs.Message{Kind: jobs.ReviveKind}); err != nil {
			t.Fatal(err)
		}
		h.want(t, h.serve(t, id), map[string]string{"s": "heavy "})
	})
}
