package job

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/jobapi"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/service/servicetest"
)

// fixture is a service over tables and their jobs.
type fixture struct {
	*Service
	jobs *transaction.Store
}

func open(t *testing.T) fixture {
	t.Helper()
	house := servicetest.Open(t)
	return fixture{New(house.Tables), house.Tables.Transactions}
}

func TestJobsAreListedInPagesWithTheirStates(t *testing.T) {
	f := open(t)
	states := map[string]jobapi.State{}
	for status := transactionapi.Queued; status <= transactionapi.Canceled; status++ {
		job, err := f.jobs.Begin(t.Context(), "refresh", []string{"ns", "v"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.jobs.Advance(t.Context(), transaction.Unit{Job: job.ID}, func(j *transaction.Transaction) { j.Status, j.Failure = status, "why" }); err != nil {
			t.Fatal(err)
		}
		states[job.ID] = jobStates[status]
	}
	for _, limit := range []int64{1, 2, 5, 100} {
		listed := map[string]jobapi.State{}
		req := &jobapi.ListRequest{Page: protocol.Page{Limit: &limit}}
		for {
			page, err := f.List(t.Context(), req)
			if err != nil || int64(len(page.Jobs)) > limit {
				t.Fatalf("got %+v, %v; want at most %d jobs", page, err, limit)
			}
			for _, job := range page.Jobs {
				listed[job.JobID] = job.State
				if job.Table != "ns$v" || job.JobType != "refresh" || job.CreatedAtMillis <= 0 {
					t.Errorf("got %+v, want the job of ns$v", job)
				}
			}
			if req.PageToken = page.PageToken; req.PageToken == "" {
				break
			}
		}
		if diff := cmp.Diff(states, listed); diff != "" {
			t.Errorf("pages of %d (-want +got):\n%s", limit, diff)
		}
	}
	all, err := f.List(t.Context(), &jobapi.ListRequest{})
	if err != nil || len(all.Jobs) != len(states) {
		t.Errorf("without a limit: got %+v, %v; want all", all, err)
	}
	for id, state := range states {
		got, err := f.Describe(t.Context(), &jobapi.Request{JobID: id})
		if err != nil || got.JobState != state || (got.Failure != nil) != (state == jobapi.Failed) {
			t.Errorf("describe %s: got %+v, %v; want %s", id, got, err, state)
		}
	}
}

func TestJobsAreCancelledOnce(t *testing.T) {
	f := open(t)
	running, err := f.jobs.Begin(t.Context(), "refresh", nil)
	if err != nil {
		t.Fatal(err)
	}
	done, err := f.jobs.Begin(t.Context(), "refresh", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.jobs.Advance(t.Context(), transaction.Unit{Job: done.ID}, func(j *transaction.Transaction) { j.Status = transactionapi.Succeeded })
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for id, want := range map[string]jobapi.State{running.ID: jobapi.Cancelled, done.ID: jobapi.Done} {
			if _, err := f.Cancel(t.Context(), &jobapi.Request{JobID: id}); err != nil {
				t.Fatal(err)
			}
			if got, err := f.Describe(t.Context(), &jobapi.Request{JobID: id}); err != nil || got.JobState != want {
				t.Errorf("job %s: got %+v, %v; want %s", id, got, err, want)
			}
		}
	}
	for _, id := range []string{"nothing", strings.Repeat("0", 32)} {
		if _, err := f.Cancel(t.Context(), &jobapi.Request{JobID: id}); err == nil || protocol.CodeOf(err) != protocol.TransactionNotFound {
			t.Errorf("cancel %s: got %v, want TransactionNotFound", id, err)
		}
	}
}
