package jobs_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/objectstore/memstore"
)

// passing is jobs whose last two stages run in so many passes. Each of the two parts of a pass adds its
// number to the sum of all passes before.
func passing(passes int, visit func(stage string, part, sum int)) jobs.Kind {
	sum := sumOf("plan")
	return jobs.Kind{Stages: []jobs.Stage{
		{Name: "look", Do: func(context.Context, *jobs.Run) (any, error) { return 7, nil }},
		{Name: "plan", Do: func(context.Context, *jobs.Run) (any, error) { return 0, nil }},
		{Name: "work", Parts: func(context.Context, *jobs.Run) (int, error) { return 2, nil }, Do: func(ctx context.Context, r *jobs.Run) (any, error) {
			part, _ := r.Part()
			before, err := sum(ctx, r)
			if err != nil {
				return nil, err
			}
			visit(r.Stage(), part, before.(int))
			r.Progress(jobs.Progress{Rows: 5})
			return part, nil
		}},
		{Name: "none", Parts: func(context.Context, *jobs.Run) (int, error) { return 0, nil }},
		{Name: "commit", Do: func(ctx context.Context, r *jobs.Run) (any, error) {
			before, err := sum(ctx, r)
			if err != nil {
				return nil, err
			}
			now, err := sumOf("work")(ctx, r)
			if err != nil {
				return nil, err
			}
			if none, err := r.Results(ctx, "none"); err != nil || len(none) > 0 {
				return nil, fmt.Errorf("a stage of no parts has %d results: %w", len(none), err)
			}
			if first, err := sumOf("look")(ctx, r); err != nil || first != 7 {
				return nil, fmt.Errorf("the first stage has %v: %w", first, err)
			}
			all := before.(int) + now.(int)
			if all < 3*passes {
				return jobs.Again{After: "plan", Result: all}, nil
			}
			return all, nil
		}},
	}}
}

func TestStagesRunInPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const passes = 30
		var mu sync.Mutex
		var visits []string
		h := newHouse(memstore.New(), new(memqueue.Queue), passing(passes, func(stage string, part, sum int) {
			mu.Lock()
			defer mu.Unlock()
			visits = append(visits, fmt.Sprint(stage, part, " ", sum))
		}))
		got := h.serve(t, h.begin(t, nil))
		wantEnd(t, got, transactionapi.Succeeded, fmt.Sprint(3*passes))
		want := []string{}
		for pass := range passes {
			want = append(want, fmt.Sprint("work1 ", 3*pass), fmt.Sprint("work2 ", 3*pass))
		}
		slices.Sort(want)
		if slices.Sort(visits); !slices.Equal(visits, want) {
			t.Errorf("got the visits %q, want each part once in each pass", visits)
		}
		if w := got.Work; w.Stage != "commit-30" || w.Stages != 5 || w.StagesDone != 5 || len(w.Results) > 50 {
			t.Errorf("it tells stage %s, %d of %d, and keeps %d results", w.Stage, w.StagesDone, w.Stages, len(w.Results))
		}
		events, err := h.Transactions.Events(t.Context(), got)
		if err != nil {
			t.Fatal(err)
		}
		stages := map[string]bool{}
		for _, e := range events {
			if e.Unit.Part > 0 {
				stages[e.Unit.Stage] = true
			}
		}
		if len(stages) < 10 || !stages["work-30"] || stages["work"] {
			t.Errorf("there are events of parts in the stages %v, want those of the last passes", stages)
		}
	})
}

// A message of an earlier pass that comes late changes nothing.
func TestLateMessagesOfAPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h *house
		var id string
		h = newHouse(memstore.New(), new(memqueue.Queue), passing(3, func(string, int, int) {
			for _, stage := range []string{"work", "work-2", "work-3"} {
				if err := h.Queue.Send(t.Context(), 0, jobs.Message{Job: id, Stage: stage, Part: 1}, jobs.Message{Job: id}); err != nil {
					t.Error(err)
				}
			}
		}))
		id = h.begin(t, nil)
		wantEnd(t, h.serve(t, id), transactionapi.Succeeded, "9")
	})
}

func TestAgainBeginsAfterAnEarlierStage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(memstore.New(), new(memqueue.Queue), jobs.Single("only", func(context.Context, *jobs.Run) (any, error) {
			return jobs.Again{After: "only"}, nil
		}))
		if got := h.serve(t, h.begin(t, nil)); got.Status != transactionapi.Failed {
			t.Errorf("the job is %v with %s, want that it fails", got.Status, got.Result)
		}
	})
}
