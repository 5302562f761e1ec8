package jobs_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/process/tally"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// Each run of a job and of its parts is observed with the tenant of the request that began it, also one that fails. Jobs
// that no request began are not.
func TestRunsAreObservedForTheTenantThatBeganThem(t *testing.T) {
	work := func(ctx context.Context, took time.Duration, rows int64) (any, error) {
		time.Sleep(took)
		tally.AddRows(ctx, rows)
		objectstore.Count(objectstore.WithUsage(ctx, new(objectstore.Usage)), true, 1, 100)
		return 0, nil
	}
	var failed bool
	kind := jobs.Kind{Stages: []jobs.Stage{
		{Name: "plan", Do: func(ctx context.Context, _ *jobs.Run) (any, error) { return work(ctx, 10*time.Millisecond, 1) }},
		{
			Name: "parts", Parts: func(context.Context, *jobs.Run) (int, error) { return 2, nil },
			Do: func(ctx context.Context, r *jobs.Run) (any, error) {
				part, _ := r.Part()
				return work(ctx, time.Duration(part)*100*time.Millisecond, int64(part)*10)
			},
		},
		{Name: "commit", Do: func(ctx context.Context, _ *jobs.Run) (any, error) {
			if !failed {
				failed = true
				_, _ = work(ctx, time.Millisecond, 0)
				return nil, errors.New("it failed once")
			}
			return work(ctx, 20*time.Millisecond, 5)
		}},
	}}
	for name, c := range map[string]struct {
		by   *auth.Principal
		want []int64 // rows of the runs
	}{
		"claim":      {&auth.Principal{Subject: "ada", Issuer: "https://issuer", Claim: "acme"}, []int64{0, 1, 5, 10, 20}},
		"key":        {&auth.Principal{Subject: "key:acme/ci"}, []int64{0, 1, 5, 10, 20}},
		"no request": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				failed = false
				h := newHouse(memstore.New(), new(memqueue.Queue), kind)
				var mu sync.Mutex
				var rows []int64
				var took time.Duration
				h.Observe = func(r jobs.Ran) {
					mu.Lock()
					defer mu.Unlock()
					if r.Tenant != "acme" || !slices.Equal(r.Object, []string{"ns", "t"}) || r.Storage.Requests() != 1 || r.Storage.Bytes() != 100 {
						t.Errorf("got %+v with %d reads of %d bytes", r, r.Storage.Requests(), r.Storage.Bytes())
					}
					rows, took = append(rows, r.Wrote), took+r.Duration
				}
				ctx := t.Context()
				if c.by != nil {
					ctx = auth.NewContext(ctx, c.by)
				}
				begun, err := h.Begin(ctx, "k", []string{"ns", "t"}, nil)
				if err != nil {
					t.Fatal(err)
				}
				serveFor(t, h, time.Hour)
				if got, err := h.Transactions.Job(t.Context(), transaction.Unit{Job: begun.ID}); err != nil || !got.Status.Ended() {
					t.Fatalf("the job has not ended: %v", err)
				}
				slices.Sort(rows)
				if want := 331 * time.Millisecond; !slices.Equal(rows, c.want) || c.want != nil && took != want {
					t.Errorf("rows of runs %v, want %v; they took %v, want %v", rows, c.want, took, want)
				}
			})
		})
	}
}

// A job that a job begins works for the same tenant. Without a tenant it works for nobody.
func TestAJobThatAJobBeginsIsObservedForItsTenant(t *testing.T) {
	for _, tenant := range []string{"acme", ""} {
		synctest.Test(t, func(t *testing.T) {
			var h *house
			h = newHouse(memstore.New(), new(memqueue.Queue), jobs.Single("do", func(ctx context.Context, r *jobs.Run) (any, error) {
				if r.Object()[0] == "second" {
					return 0, nil
				}
				_, err := h.Begin(ctx, "k", []string{"second"}, nil)
				return 0, err
			}))
			var mu sync.Mutex
			var got []string
			h.Observe = func(r jobs.Ran) {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, r.Tenant+" "+r.Object[0])
			}
			ctx := t.Context()
			want := []string(nil)
			if tenant != "" {
				ctx, want = auth.NewContext(ctx, &auth.Principal{Subject: "key:" + tenant}), []string{"acme first", "acme second"}
			}
			if _, err := h.Begin(ctx, "k", []string{"first"}, nil); err != nil {
				t.Fatal(err)
			}
			serveFor(t, h, time.Minute)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// serveFor works for some time.
func serveFor(t *testing.T, h *house, d time.Duration) {
	ctx, stop := context.WithTimeout(t.Context(), d)
	defer stop()
	h.Serve(ctx, 3)
}
