package transaction

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
)

// fixture is a store whose clock can be turned on and whose storage can fail.
type fixture struct {
	*Store
	objects *faultstore.Store
	clock   time.Time
}

func open() *fixture {
	f := &fixture{objects: faultstore.New(memstore.New(), nil), clock: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)}
	now := func() time.Time { return f.clock }
	f.Store = Open(objectrecord.Open(f.objects, now), now)
	return f
}

func (f *fixture) begin(t *testing.T) *Transaction {
	t.Helper()
	job, err := f.Begin(t.Context(), "refresh", []string{"ns", "v"})
	if err != nil {
		t.Fatal(err)
	}
	return job
}

func refOf(t *testing.T, id string) Ref {
	t.Helper()
	ref, err := ParseID([]string{id})
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func set(status transactionapi.Status) []transactionapi.Action {
	return []transactionapi.Action{{SetStatus: &transactionapi.SetStatusAction{Status: status}}}
}

func (f *fixture) wantStatus(t *testing.T, id string, want transactionapi.Status) {
	t.Helper()
	got, err := f.Get(t.Context(), refOf(t, id))
	if err != nil || got.Status != want {
		t.Fatalf("transaction %s: got %+v, %v; want %v", id, got, err, want)
	}
}

func TestJobRunsToItsEnd(t *testing.T) {
	f := open()
	job := f.begin(t)
	f.wantStatus(t, job.ID, transactionapi.Queued)
	for done := range 3 {
		_, err := f.Advance(t.Context(), Unit{Job: job.ID}, func(j *Transaction) {
			j.Status, j.Done, j.Total = transactionapi.Running, int64(done), 3
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Advance(t.Context(), Unit{Job: job.ID}, func(j *Transaction) { j.Status = transactionapi.Succeeded }); err != nil {
		t.Fatal(err)
	}
	f.wantStatus(t, job.ID, transactionapi.Succeeded)
	_, err := f.Advance(t.Context(), Unit{Job: job.ID}, func(*Transaction) { t.Error("a job that has ended is advanced") })
	if !errors.Is(err, ErrEnded) {
		t.Errorf("advancing a job that has ended: got %v, want ErrEnded", err)
	}
}

func TestJobDoesNotOverwriteTheChangesOfItsUser(t *testing.T) {
	for _, said := range []transactionapi.Status{transactionapi.Canceled, transactionapi.Failed, transactionapi.Succeeded} {
		f := open()
		job := f.begin(t)
		_, err := f.Advance(t.Context(), Unit{Job: job.ID}, func(j *Transaction) {
			if j.Status == transactionapi.Queued { // the user is quicker than the worker's write
				if _, err := f.Alter(t.Context(), refOf(t, job.ID), set(said)); err != nil {
					t.Fatal(err)
				}
			}
			j.Status = transactionapi.Running
		})
		if !errors.Is(err, ErrEnded) {
			t.Errorf("the user said %v: the worker gets %v, want ErrEnded", said, err)
		}
		f.wantStatus(t, job.ID, said)
	}
}

func TestStatusFollowsAnyOther(t *testing.T) {
	f := open()
	job := f.begin(t)
	all := []transactionapi.Status{
		transactionapi.Queued, transactionapi.Running, transactionapi.Succeeded, transactionapi.Failed, transactionapi.Canceled,
	}
	for _, from := range all {
		for _, to := range all {
			for _, status := range []transactionapi.Status{from, to} {
				got, err := f.Alter(t.Context(), refOf(t, job.ID), set(status))
				if err != nil || got.Status != status {
					t.Fatalf("%v to %v: got %+v, %v", from, to, got, err)
				}
			}
			f.wantStatus(t, job.ID, to)
		}
	}
}

func TestRecordsExpireAfterTheEnd(t *testing.T) {
	f := open()
	running, ended, revived := f.begin(t), f.begin(t), f.begin(t)
	for _, job := range []*Transaction{ended, revived} {
		if _, err := f.Alter(t.Context(), refOf(t, job.ID), set(transactionapi.Succeeded)); err != nil {
			t.Fatal(err)
		}
	}
	f.clock = f.clock.Add(Retention - time.Second)
	f.wantStatus(t, ended.ID, transactionapi.Succeeded)
	if _, err := f.Alter(t.Context(), refOf(t, revived.ID), set(transactionapi.Running)); err != nil {
		t.Fatal(err)
	}
	f.clock = f.clock.Add(time.Second)
	f.wantStatus(t, running.ID, transactionapi.Queued)
	f.wantStatus(t, revived.ID, transactionapi.Running)
	if got, err := f.Get(t.Context(), refOf(t, ended.ID)); err == nil || protocol.CodeOf(err) != protocol.TransactionNotFound {
		t.Errorf("a job that ended long ago: got %+v, %v; want TransactionNotFound", got, err)
	}
}

func TestAlterLosesNoAlteration(t *testing.T) {
	f := open()
	job := f.begin(t)
	const writers = 8
	var wait sync.WaitGroup
	for i := range writers {
		wait.Go(func() {
			value := "1"
			_, err := f.Alter(t.Context(), refOf(t, job.ID), []transactionapi.Action{
				{SetProperty: &transactionapi.SetPropertyAction{Key: fmt.Sprint(i), Value: &value}},
			})
			if err != nil {
				t.Errorf("Alter: %v", err)
			}
		})
	}
	wait.Wait()
	if got, err := f.Get(t.Context(), refOf(t, job.ID)); err != nil || len(got.Properties) != writers {
		t.Errorf("got %+v, %v; want %d properties", got, err, writers)
	}
}

func TestAlterLetsOneOfManySetAProperty(t *testing.T) {
	f := open()
	job := f.begin(t)
	var mu sync.Mutex
	var winners []string
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			value := fmt.Sprint(i)
			_, err := f.Alter(t.Context(), refOf(t, job.ID), []transactionapi.Action{
				{SetProperty: &transactionapi.SetPropertyAction{Key: "owner", Value: &value, Mode: transactionapi.SetPropertyFail}},
			})
			switch {
			case err == nil:
				mu.Lock()
				winners = append(winners, value)
				mu.Unlock()
			case protocol.CodeOf(err) != protocol.ConcurrentModification:
				t.Errorf("a loser: got %v, want ConcurrentModification", err)
			}
		})
	}
	wait.Wait()
	got, err := f.Get(t.Context(), refOf(t, job.ID))
	if err != nil || len(winners) != 1 || got.Properties["owner"] != winners[0] {
		t.Errorf("winners %q, and %+v, %v is there; want one and its value", winners, got, err)
	}
}

func TestCommitHasARecordOnceItIsAltered(t *testing.T) {
	f := open()
	table, commit := []string{"ns", "t"}, Commit{UUID: uuid, Version: 3, ReadVersion: 2, Operation: "Append"}
	f.objects.Reset()
	if got, err := f.AlterCommit(t.Context(), Ref{Table: table}, commit, []transactionapi.Action{{}}); err != nil || got.Status != transactionapi.Succeeded {
		t.Fatalf("no change: got %+v, %v; want Succeeded", got, err)
	}
	if got, err := f.GetCommit(t.Context(), Ref{Table: table, UUID: uuid}); got != nil || err != nil {
		t.Fatalf("a record of a commit that was not changed: got %+v, %v; want none", got, err)
	}
	altered, err := f.AlterCommit(t.Context(), Ref{Table: table}, commit, set(transactionapi.Failed))
	if err != nil {
		t.Fatal(err)
	}
	f.wantStatus(t, altered.ID, transactionapi.Failed)
	got, err := f.GetCommit(t.Context(), Ref{Table: table, UUID: uuid})
	if err != nil || got == nil || got.Status != transactionapi.Failed {
		t.Fatalf("got %+v, %v; want it Failed", got, err)
	}
	if diff := cmp.Diff(&commit, got.Commit); diff != "" {
		t.Errorf("the commit of the record (-want +got):\n%s", diff)
	}
	if other, err := f.GetCommit(t.Context(), Ref{Table: []string{"other"}, UUID: uuid}); other != nil || err != nil {
		t.Errorf("a commit of another table with the same UUID: got %+v, %v; want none", other, err)
	}
	f.clock = f.clock.Add(2 * Retention)
	f.wantStatus(t, altered.ID, transactionapi.Failed)
}

func TestCommitsOfTablesWithLongNames(t *testing.T) {
	f := open()
	f.objects.Reset()
	id := f.IDOfCommit(t.Context(), []string{"ns", "t"}, Commit{Version: 3, UUID: uuid})
	if ref := refOf(t, id); ref.IsRecorded() || f.objects.Snapshot().Requests != 0 {
		t.Errorf("an ordinary name: got id %s after %d requests, want one without a record", id, f.objects.Snapshot().Requests)
	}
	id = f.IDOfCommit(t.Context(), []string{strings.Repeat("long", 60)}, Commit{Version: 3, UUID: uuid})
	f.wantStatus(t, id, transactionapi.Succeeded)
	if _, err := f.Alter(t.Context(), refOf(t, id), set(transactionapi.Canceled)); err != nil {
		t.Fatal(err)
	}
	f.wantStatus(t, id, transactionapi.Canceled)
	f.objects.Inject(func(faultstore.Call) faultstore.Fault { return faultstore.Fault{Err: errors.New("out of order")} })
	if id := f.IDOfCommit(t.Context(), []string{strings.Repeat("other", 50)}, Commit{Version: 3, UUID: uuid}); id != "" {
		t.Errorf("the record cannot be written: got id %s, want none", id)
	}
}

func TestUnknownTransactions(t *testing.T) {
	f := open()
	ref := refOf(t, newJobID(f.clock))
	if _, err := f.Get(t.Context(), ref); err == nil || protocol.CodeOf(err) != protocol.TransactionNotFound {
		t.Errorf("Get: got %v, want TransactionNotFound", err)
	}
	if _, err := f.Alter(t.Context(), ref, set(transactionapi.Failed)); err == nil || protocol.CodeOf(err) != protocol.TransactionNotFound {
		t.Errorf("Alter: got %v, want TransactionNotFound", err)
	}
}

func TestAlterOfUnknownOutcomeIsUnsettled(t *testing.T) {
	f := open()
	job := f.begin(t)
	f.objects.Inject(func(c faultstore.Call) faultstore.Fault {
		return faultstore.Fault{Lost: c.Kind == faultstore.PutIfMatch}
	})
	_, err := f.Alter(t.Context(), refOf(t, job.ID), set(transactionapi.Failed))
	if err == nil {
		return // settled by reading back
	}
	var known *protocol.Error
	if !errors.As(err, &known) || known.Code != protocol.ServiceUnavailable || !known.Unsettled {
		t.Errorf("got %v, want an unsettled ServiceUnavailable", err)
	}
}

func TestJobsAreListedNewestFirst(t *testing.T) {
	f := open()
	var want []string
	for range 5 {
		f.clock = f.clock.Add(time.Minute)
		want = append([]string{f.begin(t).ID}, want...)
	}
	f.IDOfCommit(t.Context(), []string{strings.Repeat("long", 60)}, Commit{Version: 3, UUID: uuid}) // has a record, but is no job
	var got []string
	for after := ""; ; {
		jobs, next, err := f.Jobs(t.Context(), after, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, job := range jobs {
			got = append(got, job.ID)
		}
		if after = next; after == "" {
			break
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestChangesAreDescribedAndAltered(t *testing.T) {
	for _, name := range []string{"t", strings.Repeat("long", 60)} {
		s := Open(objectrecord.Open(memstore.New(), time.Now), time.Now)
		id := s.IDOfChange(t.Context(), Change{Operation: "rename-table", Object: []string{name}, Properties: map[string]string{"renamed_to": "z"}})
		ref, err := ParseID([]string{name, id})
		if err != nil {
			t.Fatal(err)
		}
		get, alter := s.GetChange, s.AlterChange
		if ref.IsRecorded() {
			get, alter = s.Get, s.Alter
		}
		found, err := get(t.Context(), ref)
		if err != nil || found.Status != transactionapi.Succeeded || found.Describe()["renamed_to"] != "z" || found.Describe()["operation"] != "rename-table" {
			t.Errorf("%s: got %+v, %v", id, found, err)
		}
		value := "v"
		set := func(key string) []transactionapi.Action {
			return []transactionapi.Action{{SetProperty: &transactionapi.SetPropertyAction{Key: key, Value: &value}}}
		}
		if _, err := alter(t.Context(), ref, set("operation")); protocol.CodeOf(err) != protocol.InvalidInput {
			t.Errorf("%s: what it was is altered: %v", id, err)
		}
		if _, err := alter(t.Context(), ref, set("k")); err != nil {
			t.Error(err)
		}
		if found, err := get(t.Context(), ref); err != nil || found.Describe()["k"] != "v" || found.Describe()["renamed_to"] != "z" {
			t.Errorf("%s: after an alteration got %+v, %v", id, found, err)
		}
	}
}
