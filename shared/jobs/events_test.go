package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// events returns the events of a job and its parts.
func (h *house) events(t *testing.T, id string) []transaction.Event {
	t.Helper()
	whole, err := h.Transactions.Job(t.Context(), transaction.Unit{Job: id})
	if err != nil {
		t.Fatal(err)
	}
	events, err := h.Transactions.Events(t.Context(), whole)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// told returns the states of the events of one unit with their stages and messages.
func told(events []transaction.Event, stage string, part int) []string {
	var lines []string
	for _, e := range events {
		if e.Unit.Part == part && e.Unit.Stage == stage {
			lines = append(lines, strings.TrimSpace(fmt.Sprint(e.State, " ", e.Stage, " ", e.Message)))
		}
	}
	return lines
}

func wantEvents(t *testing.T, events []transaction.Event, stage string, part int, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, told(events, stage, part)); diff != "" {
		t.Errorf("events of part %d of %q (-want +got):\n%s", part, stage, diff)
	}
}

func TestEventsOfAJobOfOneStage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(memstore.New(), new(memqueue.Queue), jobs.Single("count", func(_ context.Context, r *jobs.Run) (any, error) {
			time.Sleep(time.Second)
			r.Progress(jobs.Progress{Rows: 7})
			return nil, nil
		}))
		id := h.begin(t, nil)
		h.serve(t, id)
		events := h.events(t, id)
		wantEvents(t, events, "", 0, "created", "claim", "stage_begin count", "claim_complete count", "stage_end count", "done count")
		if rows, ok := events[3].RowsProcessed(); rows != 7 || !ok {
			t.Errorf("the run processed %d rows, %v; want 7", rows, ok)
		}
		if events[2].At.Sub(events[1].At) != 0 || events[3].At.Sub(events[2].At) != time.Second {
			t.Errorf("the stage began at %v, want it at the claim, a second before its end", events[2].At)
		}
		if events[0].By != "" || events[1].By == "" || events[4].By != events[1].By {
			t.Errorf("the events are by %q, %q and %q, want a request and one run", events[0].By, events[1].By, events[4].By)
		}
	})
}

func TestEventsOfStagesAndParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(memstore.New(), new(memqueue.Queue), staged(func(string, int) {}))
		id := h.begin(t, nil)
		wantEnd(t, h.serve(t, id), transactionapi.Succeeded, stagedResult)
		events := h.events(t, id)
		var steps []string
		rows := int64(0)
		for _, e := range events {
			if n, ok := e.RowsProcessed(); ok && e.Unit.Part > 0 {
				rows += n
			}
			if e.Unit.Part == 0 && !strings.HasPrefix(string(e.State), "claim") {
				steps = append(steps, strings.TrimSpace(fmt.Sprint(e.State, " ", e.Stage, " ", e.Message)))
			}
		}
		want := []string{
			"created", "stage_begin train", "stage_end train", "stage_begin shards", "split shards 3 parts", "stage_end shards",
			"stage_begin merge", "split merge 2 parts", "stage_end merge", "stage_begin commit", "stage_end commit", "done commit",
		}
		if diff := cmp.Diff(want, steps); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for part := range 3 {
			wantEvents(t, events, "shards", part+1, "claim shards", "claim_complete shards", "done shards")
		}
		if rows != 50 {
			t.Errorf("the parts processed %d rows, want 10 each", rows)
		}
	})
}

func TestEventsOfFailuresPausesAndResumptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		var h *house
		h = newHouse(memstore.New(), new(memqueue.Queue), jobs.Single("try", func(ctx context.Context, r *jobs.Run) (any, error) {
			if tries++; tries <= 2 {
				return nil, protocol.Errorf(protocol.ServiceUnavailable, "try %d", tries)
			}
			if tries == 3 {
				if _, err := h.Pause(ctx, transaction.Unit{Job: r.ID()}); err != nil {
					return nil, err
				}
				return nil, r.Checkpoint(ctx, nil)
			}
			return nil, protocol.Errorf(protocol.InvalidInput, "no good")
		}))
		id := h.begin(t, nil)
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan struct{})
		go func() { h.Serve(ctx, 1); close(served) }()
		time.Sleep(time.Hour)
		if _, _, err := h.Resume(t.Context(), transaction.Unit{Job: id}, time.Now()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		stop()
		<-served
		wantEvents(t, h.events(t, id), "", 0,
			"created", "claim", "stage_begin try", "claim_failed try try 1", "claim try", "claim_failed try try 2",
			"claim try", "paused try", "claim_complete try", "resumed try", "claim try", "claim_failed try no good", "failed try no good")
	})
}

func TestEventsOfADeathAndACancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(memstore.New(), new(memqueue.Queue), count(func(int) {}))
		id := h.begin(t, 1)
		for range transaction.MaxDeaths {
			_, _, _ = h.Transactions.Take(t.Context(), transaction.Unit{Job: id}, h.Name(), time.Minute)
			time.Sleep(time.Hour)
		}
		_, _, err := h.Transactions.Take(t.Context(), transaction.Unit{Job: id}, h.Name(), time.Minute)
		if !errors.Is(err, transaction.ErrEnded) {
			t.Fatalf("after the last death: %v, want ErrEnded", err)
		}
		if _, _, err := h.Resume(t.Context(), transaction.Unit{Job: id}, time.Now()); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Transactions.Advance(t.Context(), transaction.Unit{Job: id}, func(t *transaction.Transaction) { t.Status = transactionapi.Canceled }); err != nil {
			t.Fatal(err)
		}
		wantEvents(t, h.events(t, id), "", 0, "created", "claim", "claim_lost", "claim", "claim_lost", "claim", "claim_lost",
			"set_aside  the job ended the process of its worker 3 times; it is set aside until the job is resumed", "resumed", "cancelled")
	})
}

// Events are recorded once, although answers are lost and runs repeat their writes.
func TestEventsAreRecordedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for nth := 1; nth < 12; nth++ {
			writes := 0
			faulty := faultstore.New(memstore.New(), func(c faultstore.Call) faultstore.Fault {
				if c.Kind != faultstore.PutIfAbsent && c.Kind != faultstore.PutIfMatch {
					return faultstore.Fault{}
				}
				writes++
				return faultstore.Fault{Lost: writes == nth}
			})
			h := newHouse(faulty, new(memqueue.Queue), count(func(int) {}))
			begun, err := h.Begin(t.Context(), "k", []string{"t"}, 2)
			if err != nil {
				continue
			}
			h.serve(t, begun.ID)
			seen := map[transaction.EventState]int{}
			for _, e := range h.events(t, begun.ID) {
				seen[e.State]++
			}
			if seen["created"] != 1 || seen["done"] != 1 || seen["claim"] != seen["claim_complete"]+seen["claim_lost"]+seen["claim_failed"] {
				t.Errorf("write %d lost its answer: %v", nth, seen)
			}
		}
	})
}

func TestEventsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(memstore.New(), new(memqueue.Queue), count(func(int) {}))
		id := h.begin(t, 1)
		for range 100 {
			if _, err := h.Pause(t.Context(), transaction.Unit{Job: id}); err != nil {
				t.Fatal(err)
			}
			if _, _, err := h.Resume(t.Context(), transaction.Unit{Job: id}, time.Now()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		events := h.events(t, id)
		if len(events) != 61 || events[0].State != transaction.EventCreated || events[10].State != transaction.EventOmitted {
			t.Fatalf("%d events that begin with %v, want 60 and one for those that are left out", len(events), told(events[:11], "", 0))
		}
		if want := "141 events are left out here"; events[10].Message != want {
			t.Errorf("got %q, want %q", events[10].Message, want)
		}
	})
}
