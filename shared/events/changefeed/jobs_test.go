package changefeed_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"tiltyard/shared/catalog"
	"tiltyard/shared/events/changefeed"
	"tiltyard/shared/events/outbox"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol/eventapi"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
)

// noQueue is a queue that loses all messages.
type noQueue struct{ jobs.Queue }

func (noQueue) Send(context.Context, time.Duration, ...jobs.Message) error { return nil }

func TestAnnouncerChoosesTheJobEndsToAnnounce(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	objects := memstore.New()
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: objects})
	if err != nil {
		t.Fatal(err)
	}
	records := objectrecord.Open(objects, clock)
	transactions := transaction.Open(records, clock)
	a := changefeed.Open(catalog.Open(roots, clock), jobs.NewStarter(transactions, noQueue{}), changefeed.Options{
		Source: "urn:test", Keep: 48 * time.Hour, Objects: objects, Records: records, Now: clock,
	})
	ids := map[string]string{} // by kind
	add := func(kind string, object []string, status transactionapi.Status, failure string) {
		t.Helper()
		began, err := transactions.BeginWork(t.Context(), kind, object, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
		if _, err := transactions.Advance(t.Context(), transaction.Unit{Job: began.ID}, func(t *transaction.Transaction) { t.Status, t.Failure = status, failure }); err != nil {
			t.Fatal(err)
		}
		ids[kind] = began.ID
	}
	add("before the log", []string{"t"}, transactionapi.Succeeded, "")
	now = now.Add(time.Hour)
	if _, err := a.Outbox.Log.Since(t.Context()); err != nil {
		t.Fatal(err)
	}
	add("done", []string{"t"}, transactionapi.Succeeded, "")
	add("failed", []string{"n", "t"}, transactionapi.Failed, "the disk is full")
	add("cancelled", []string{"t"}, transactionapi.Canceled, "")
	add("running", []string{"t"}, transactionapi.Running, "")
	add("of the clock", nil, transactionapi.Succeeded, "")
	for range 2 {
		for _, kind := range []string{"before the log", "done", "failed", "cancelled", "running", "of the clock"} {
			if err := a.Job(t.Context(), ids[kind]); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.Job(t.Context(), "none"); err != nil {
			t.Errorf("a job that does not exist: %v", err)
		}
	}
	page, err := a.Outbox.Log.Read(t.Context(), outbox.Cursor{}, 100, func(*eventapi.Event) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range page.Events {
		got = append(got, fmt.Sprintf("%s %s %s %s", e.Data.JobType, e.Subject, e.Data.State, e.Data.Message))
	}
	want := []string{"done t DONE ", "failed n$t FAILED the disk is full", "cancelled t CANCELLED "}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}

	listed := func() (kinds []string) {
		t.Helper()
		found, next, err := a.EndedJobs(t.Context(), "")
		if err != nil || next != "" {
			t.Fatalf("next %q, %v", next, err)
		}
		for kind, id := range ids {
			if slices.Contains(found, id) {
				kinds = append(kinds, kind)
			}
		}
		slices.Sort(kinds)
		return kinds
	}
	if got, want := listed(), []string{"before the log", "cancelled", "done", "failed"}; !slices.Equal(got, want) {
		t.Errorf("the regular poll asks for %q, want %q", got, want)
	}
	now = now.Add(47*time.Hour + 30*time.Minute)
	if got, want := listed(), []string{"cancelled", "done", "failed"}; !slices.Equal(got, want) {
		t.Errorf("later it asks for %q, want %q", got, want)
	}
}
