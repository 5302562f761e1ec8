package jobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/outage"
	"tiltyard/shared/storage/record/objectrecord"
)

// house is workers over one storage and one queue.
type house struct {
	*jobs.Worker
	names atomic.Int64
}

func newHouse(objects objectstore.Store, queue jobs.Queue, kind jobs.Kind) *house {
	h := &house{}
	h.Worker = &jobs.Worker{
		Starter: jobs.Starter{Transactions: transaction.Open(objectrecord.Open(objects, time.Now), time.Now), Queue: queue},
		Kinds:   map[string]jobs.Kind{"k": kind},
		Name:    func() string { return strconv.FormatInt(h.names.Add(1), 10) + fmt.Sprintf("%p", h) },
		Now:     time.Now, Logger: slog.New(slog.DiscardHandler),
	}
	return h
}

// serve works until a job has ended, and returns it.
func (h *house) serve(t *testing.T, id string) *transaction.Transaction {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.Serve(ctx, 3)
	}()
	defer func() { stop(); <-done }()
	for range 10_000 {
		got, err := h.Transactions.Job(t.Context(), transaction.Unit{Job: id})
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

func (h *house) begin(t *testing.T, input any) string {
	t.Helper()
	begun, err := h.Begin(t.Context(), "k", []string{"t"}, input)
	if err != nil {
		t.Fatal(err)
	}
	return begun.ID
}

func wantEnd(t *testing.T, got *transaction.Transaction, status transactionapi.Status, result string) {
	t.Helper()
	if got.Status != status || string(got.Result) != result {
		t.Errorf("the job is %v with %s (%s), want %v with %s", got.Status, got.Result, got.Failure, status, result)
	}
}

// count counts up to the input, with a checkpoint after each number.
func count(visit func(n int)) jobs.Kind {
	return jobs.Single("count", func(ctx context.Context, r *jobs.Run) (any, error) {
		var to, n int
		if err := errors.Join(r.Input(&to), r.State(&n)); err != nil {
			return nil, err
		}
		for n < to {
			visit(n)
			n++
			r.Progress(jobs.Progress{Done: int64(n), Total: int64(to)})
			if err := r.Checkpoint(ctx, n); err != nil {
				return nil, err
			}
		}
		return n, nil
	})
}

func TestJobRunsToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(memstore.New(), new(memqueue.Queue), count(func(int) { time.Sleep(time.Minute) }))
		got := h.serve(t, h.begin(t, 7))
		wantEnd(t, got, transactionapi.Succeeded, "7")
		if got.Done != 7 || got.Total != 7 || got.Work.Holder != "" {
			t.Errorf("it is %+v with %+v, want 7 of 7, and nobody who holds it", got, got.Work)
		}
	})
}

func TestStepThatIsLongKeepsItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := 0
		h := newHouse(memstore.New(), new(memqueue.Queue), count(func(int) { steps++; time.Sleep(time.Hour) }))
		wantEnd(t, h.serve(t, h.begin(t, 2)), transactionapi.Succeeded, "2")
		if steps != 2 {
			t.Errorf("%d steps were done, want 2", steps)
		}
	})
}

func TestJobThatIsCanceledStopsAtItsNextCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h *house
		var id string
		last := 0
		h = newHouse(memstore.New(), new(memqueue.Queue), count(func(n int) {
			if last = n; n == 3 {
				_, err := h.Transactions.Advance(t.Context(), transaction.Unit{Job: id}, func(t *transaction.Transaction) { t.Status = transactionapi.Canceled })
				if err != nil {
					t.Error(err)
				}
			}
		}))
		id = h.begin(t, 9)
		wantEnd(t, h.serve(t, id), transactionapi.Canceled, "")
		if last != 3 {
			t.Errorf("the last step was %d, want 3", last)
		}
	})
}

func TestJobThatIsPausedGoesOnWhenItIsResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h *house
		var id string
		visits := map[int]int{}
		h = newHouse(memstore.New(), new(memqueue.Queue), count(func(n int) {
			if visits[n]++; n == 3 {
				if before, err := h.Pause(t.Context(), transaction.Unit{Job: id}); err != nil || before {
					t.Errorf("paused before: %v, %v", before, err)
				}
				go func() {
					time.Sleep(time.Hour)
					if paused, pausing, err := h.Resume(t.Context(), transaction.Unit{Job: id}, time.Now()); err != nil || !paused || pausing {
						t.Errorf("resume: paused %v, pausing %v, %v", paused, pausing, err)
					}
				}()
			}
		}))
		begun := time.Now()
		id = h.begin(t, 6)
		wantEnd(t, h.serve(t, id), transactionapi.Succeeded, "6")
		if time.Since(begun) < time.Hour || visits[3] != 1 || visits[4] != 1 {
			t.Errorf("it took %v with the visits %v, want an hour of rest and each step once", time.Since(begun), visits)
		}
	})
}

func TestJobThatFailsIsTriedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		runs int
		told string
	}{
		"an error of the house":  {errors.New("disk on fire"), 5, "internal error"},
		"a conflict":             {protocol.Errorf(protocol.ConcurrentModification, "busy"), 5, "busy"},
		"an error of the caller": {protocol.Errorf(protocol.TableNotFound, "no table"), 1, "no table"},
		"more memory than a run may hold": {fmt.Errorf("read: %w", &memory.Error{Bytes: 5, Limit: 4}), 1,
			"the request needs more memory than one request may hold (5 bytes more, of at most 4): ask for fewer rows or columns, or for less per row"},
		"memory that others hold": {fmt.Errorf("read: %w", &memory.Error{Bytes: 5, Limit: 8, Busy: true}), 5,
			"other requests hold the memory of this process (5 bytes more are needed, of 8 in all): try again later"},
		"memory that others hold, taken for an error of the caller": {
			&protocol.Error{Code: protocol.InvalidInput, Message: "bad", Err: &memory.Error{Bytes: 5, Limit: 8, Busy: true}}, 5,
			"other requests hold the memory of this process (5 bytes more are needed, of 8 in all): try again later"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				runs := 0
				h := newHouse(memstore.New(), new(memqueue.Queue), jobs.Single("s", func(context.Context, *jobs.Run) (any, error) { runs++; return nil, c.err }))
				got := h.serve(t, h.begin(t, nil))
				wantEnd(t, got, transactionapi.Failed, "")
				if runs != c.runs || !strings.HasSuffix(got.Failure, c.told) {
					t.Errorf("it was tried %d times, and failed with %q; want %d times, and %q", runs, got.Failure, c.runs, c.told)
				}
			})
		})
	}
}

// A job outlasts services that are in trouble for hours, whatever its errors are taken for.
func TestJobOutlastsAnOutage(t *testing.T) {
	trouble := outage.Busy("S3", errors.New("secret"))
	for name, err := range map[string]error{
		"of the store":              fmt.Errorf("get x: %w", trouble),
		"with an unknown outcome":   objects.Unsettled(fmt.Errorf("%w: %w", objectstore.ErrUnknownOutcome, trouble)),
		"taken for another mistake": &protocol.Error{Code: protocol.InvalidInput, Message: "bad", Err: trouble},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				runs := 0
				var h *house
				h = newHouse(memstore.New(), new(memqueue.Queue), jobs.Single("s", func(ctx context.Context, _ *jobs.Run) (any, error) {
					if runs++; runs <= 60 {
						return nil, err
					}
					jobs, _, err := h.Transactions.Jobs(ctx, "", 1)
					if err != nil || len(jobs) != 1 || jobs[0].Work.Failures != 0 || !strings.Contains(jobs[0].Work.Trouble, "S3 is overloaded") {
						t.Errorf("got %+v, %v, want the outage and no failures", jobs, err)
					}
					return runs, nil
				}))
				began := time.Now()
				wantEnd(t, h.serve(t, h.begin(t, nil)), transactionapi.Succeeded, "61")
				if took := time.Since(began); took < time.Hour {
					t.Errorf("60 runs took %v, want pauses of a minute", took)
				}
			})
		})
	}
}

// A panic fails the run of a job, and not the process that the jobs and requests of others share.
func TestJobThatPanicsFailsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs, polls := 0, 0
		kind := jobs.Single("s", func(context.Context, *jobs.Run) (any, error) { runs++; panic("of a program") })
		kind.Poll = func(context.Context, []string) (*jobs.Trigger, error) { polls++; panic("of a poll") }
		h := newHouse(memstore.New(), new(memqueue.Queue), kind)
		got := h.serve(t, h.begin(t, nil))
		wantEnd(t, got, transactionapi.Failed, "")
		if runs != 5 || !strings.HasSuffix(got.Failure, "internal error") {
			t.Errorf("it was tried %d times, and failed with %q; want 5 times, and an internal error", runs, got.Failure)
		}
		if err := h.Do(t.Context(), jobs.Message{Kind: "k", Object: []string{"t"}}); err != nil || polls != 1 {
			t.Errorf("it looked %d times, and returned %v; want once, and no error: a lost poll does no harm", polls, err)
		}
	})
}

func TestJobMayWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		h := newHouse(memstore.New(), new(memqueue.Queue), jobs.Single("s", func(context.Context, *jobs.Run) (any, error) {
			if wait := time.Hour - time.Since(begun); wait > 0 {
				return nil, jobs.Later(wait)
			}
			return "done", nil
		}))
		wantEnd(t, h.serve(t, h.begin(t, nil)), transactionapi.Succeeded, `"done"`)
		if time.Since(begun) < time.Hour {
			t.Errorf("it took %v, want an hour", time.Since(begun))
		}
	})
}

func TestRunEndsBeforeItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		visits := map[int]int{}
		h := newHouse(memstore.New(), new(memqueue.Queue), count(func(n int) { visits[n]++; time.Sleep(55 * time.Second) }))
		id := h.begin(t, 4)
		for runs := 1; ; runs++ {
			ctx, done := context.WithTimeout(t.Context(), 2*time.Minute)
			d, err := h.Queue.Receive(ctx, time.Hour)
			if err == nil {
				err = h.Do(ctx, d.Message)
			}
			done()
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := h.Transactions.Job(t.Context(), transaction.Unit{Job: id}); got.Status.Ended() {
				wantEnd(t, got, transactionapi.Succeeded, "4")
				if runs != 3 || visits[1] != 1 || visits[2] != 1 {
					t.Errorf("%d runs with visits %v, want 3 runs and each step once", runs, visits)
				}
				return
			}
		}
	})
}

// parts is jobs of a stage of n parts, and one that adds up what they come to.
func parts(n int, part func(n int) error) jobs.Kind {
	return jobs.Kind{Stages: []jobs.Stage{
		{
			Name: "parts", Parts: func(context.Context, *jobs.Run) (int, error) { return n, nil },
			Do: func(_ context.Context, r *jobs.Run) (any, error) {
				n, _ := r.Part()
				return n, part(n)
			},
		},
		{Name: "sum", Do: sumOf("parts")},
	}}
}

// sumOf adds up the results of a stage.
func sumOf(stage string) func(ctx context.Context, r *jobs.Run) (any, error) {
	return func(ctx context.Context, r *jobs.Run) (any, error) {
		results, err := r.Results(ctx, stage)
		sum := 0
		for _, text := range results {
			var one int
			if err := json.Unmarshal(text, &one); err != nil {
				return nil, err
			}
			sum += one
		}
		return sum, err
	}
}

func TestPartsAreJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(memstore.New(), new(memqueue.Queue), parts(10, func(int) error { time.Sleep(time.Minute); return nil }))
		got := h.serve(t, h.begin(t, nil))
		wantEnd(t, got, transactionapi.Succeeded, "55")
	})
}

func TestPartThatFailsEndsTheJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(memstore.New(), new(memqueue.Queue), parts(3, func(n int) error {
			if n == 2 {
				return protocol.Errorf(protocol.InvalidInput, "no")
			}
			return nil
		}))
		got := h.serve(t, h.begin(t, nil))
		wantEnd(t, got, transactionapi.Failed, "")
		if got.Failure != "part 2 of stage parts: no" {
			t.Errorf("the failure is %q", got.Failure)
		}
	})
}

func TestPollBeginsAJobWhenItIsWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wanted := false
		task := count(func(int) {})
		task.Poll = func(context.Context, []string) (*jobs.Trigger, error) {
			if wanted {
				return &jobs.Trigger{Input: 1}, nil
			}
			return nil, nil
		}
		h := newHouse(memstore.New(), new(memqueue.Queue), task)
		for _, wanted = range []bool{false, true} {
			if err := h.Do(t.Context(), jobs.Message{Kind: "k", Object: []string{"t"}}); err != nil {
				t.Fatal(err)
			}
			jobs, _, err := h.Transactions.Jobs(t.Context(), "", 10)
			if err != nil || (len(jobs) == 1) != wanted {
				t.Errorf("%d jobs were begun, %v; wanted: %v", len(jobs), err, wanted)
			}
		}
	})
}

// A job is killed at each of its requests to the storage, before and after they take place, or
// loses their answers. Another process recovers the job, and its result is the same.
func TestJobSurvivesACrashAnywhere(t *testing.T) {
	for name, task := range map[string]jobs.Kind{
		"steps": count(func(int) {}), "parts": parts(3, func(int) error { return nil }),
	} {
		want := map[string]string{"steps": "3", "parts": "6"}[name]
		for n := int32(1); ; n++ {
			reached := false
			for _, fault := range []faultstore.Fault{{Crash: true}, {Crash: true, Lost: true}, {Lost: true}, {Err: errors.New("500")}} {
				synctest.Test(t, func(t *testing.T) {
					inner := memstore.New()
					id := newHouse(inner, new(memqueue.Queue), task).begin(t, 3)
					var calls atomic.Int32
					faulty := faultstore.New(inner, func(faultstore.Call) faultstore.Fault {
						if calls.Add(1) != n {
							return faultstore.Fault{}
						}
						return fault
					})
					first := newHouse(faulty, new(memqueue.Queue), task)
					_, _ = first.Recover(t.Context())
					ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
					first.Serve(ctx, 1)
					stop()
					reached = reached || calls.Load() >= n
					second := newHouse(inner, new(memqueue.Queue), task)
					if _, err := second.Recover(t.Context()); err != nil {
						t.Fatal(err)
					}
					got := second.serve(t, id)
					if got.Status != transactionapi.Succeeded || string(got.Result) != want {
						t.Errorf("%s, request %d, %+v: the job is %v with %s (%s)", name, n, fault, got.Status, got.Result, got.Failure)
					}
				})
			}
			if !reached || n > 60 {
				break
			}
		}
	}
}
