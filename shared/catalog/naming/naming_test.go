package naming_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/ledger"
	"tiltyard/shared/catalog/naming"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

var start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// registry returns the names in a store, at a time.
func registry(t *testing.T, store objectstore.Store, now time.Time) *naming.Registry {
	t.Helper()
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://home", Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return naming.New(roots, func() time.Time { return now }, func([]string) {})
}

func id(path string) []string { return strings.Split(path, "/") }

// makeTable puts a record at a name and returns it with its ETag.
func makeTable(t *testing.T, r *naming.Registry, path string) (*stored.Table, string) {
	t.Helper()
	at, err := objectstore.NewRoots(objectstore.Root{URI: "memory://home", Store: r.Store.Store})
	if err != nil {
		t.Fatal(err)
	}
	record := r.NewTable(id(path), at.Join("folder of "+strings.ReplaceAll(path, "/", " ")), 0, nil)
	etag, err := r.CreateChild(t.Context(), record.ID, keys.Table(record.ID), record)
	if err != nil {
		t.Fatal(err)
	}
	return record, etag
}

func makeNamespace(t *testing.T, r *naming.Registry, path string, dropping *stored.DropMark, properties map[string]string) {
	t.Helper()
	record := &stored.Namespace{ID: id(path), UID: "uid of " + path, Created: start, Dropping: dropping, Properties: properties}
	if _, err := r.Store.Write(t.Context(), keys.Namespace(record.ID), record, objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
}

func wantCode(t *testing.T, what string, err error, code protocol.Code) {
	t.Helper()
	if !protocol.HasCode(err, code) {
		t.Errorf("%s: got %v, want code %d", what, err, code)
	}
}

// stands reports whether a name stands for the table at a location.
func stands(t *testing.T, r *naming.Registry, path, location string) bool {
	t.Helper()
	found, err := r.Settled(t.Context(), id(path))
	if err != nil {
		t.Fatal(err)
	}
	return found.Record != nil && found.Record.Location == location
}

func TestCreateChildGivesANameOnceInItsNamespace(t *testing.T) {
	r := registry(t, memstore.New(), start)
	makeNamespace(t, r, "n", nil, map[string]string{ledger.ManagedProperty: "true"})
	record, _ := makeTable(t, r, "n/a")
	if record.Ledger == nil {
		t.Error("a table in a managed namespace has no ledger")
	}
	if _, err := r.CreateChild(t.Context(), id("n/a"), keys.Table(id("n/a")), r.NewTable(id("n/a"), objectstore.Location{}, 0, nil)); !errors.Is(err, objectstore.ErrPrecondition) {
		t.Errorf("a taken name: got %v, want ErrPrecondition", err)
	}
	wantCode(t, "a taken name", r.Taken(t.Context(), id("n/a"), naming.TableExists(id("n/a"))), protocol.TableAlreadyExists)
	_, err := r.CreateChild(t.Context(), id("m/a"), keys.Table(id("m/a")), r.NewTable(id("m/a"), objectstore.Location{}, 0, nil))
	wantCode(t, "a name in no namespace", err, protocol.NamespaceNotFound)

	got, _, err := r.Table(t.Context(), id("n/a"))
	if err != nil || got.UID != record.UID {
		t.Errorf("got table %+v, %v; want %+v", got, err, record)
	}
	for path, code := range map[string]protocol.Code{"n/b": protocol.TableNotFound, "m/b": protocol.NamespaceNotFound, "b": protocol.TableNotFound} {
		_, _, err := r.Table(t.Context(), id(path))
		wantCode(t, path, err, code)
	}
	_, _, err = r.Table(t.Context(), nil)
	wantCode(t, "the root", err, protocol.InvalidInput)
}

func TestCreateChildIsRefusedInADroppingNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // a create waits for the drop
		r := registry(t, memstore.New(), start)
		makeNamespace(t, r, "going", &stored.DropMark{By: "x", Until: start.Add(time.Hour)}, nil)
		record := r.NewTable(id("going/t"), objectstore.Location{}, 0, nil)
		_, err := r.CreateChild(t.Context(), record.ID, keys.Table(record.ID), record)
		wantCode(t, "a name in a namespace that is going", err, protocol.ConcurrentModification)
		wantCode(t, "a taken name there", r.Taken(t.Context(), record.ID, naming.TableExists(record.ID)), protocol.ConcurrentModification)

		makeNamespace(t, r, "kept", &stored.DropMark{By: "x", Until: start}, nil)
		makeTable(t, r, "kept/t")
		if kept, _, err := r.Namespace(t.Context(), id("kept")); err != nil || kept.Dropping != nil {
			t.Errorf("the expired mark is left: %+v, %v", kept, err)
		}
	})
}

func TestRenameMovesTheName(t *testing.T) {
	r := registry(t, memstore.New(), start)
	record, etag := makeTable(t, r, "old")
	moved, err := r.Rename(t.Context(), record, etag, id("new"))
	if err != nil || !slices.Equal(moved.ID, id("new")) || moved.Location != record.Location {
		t.Fatalf("renamed to %+v, %v", moved, err)
	}
	if stands(t, r, "old", record.Location) || !stands(t, r, "new", record.Location) {
		t.Error("the table is not at its new name alone")
	}
	other, etag := makeTable(t, r, "other")
	if _, err := r.Rename(t.Context(), other, etag, id("new")); !errors.Is(err, naming.ErrTaken) {
		t.Errorf("to a taken name: got %v, want ErrTaken", err)
	}
	if _, err := r.Rename(t.Context(), other, "an earlier state", id("third")); !errors.Is(err, objectstore.ErrPrecondition) {
		t.Errorf("of a changed record: got %v, want ErrPrecondition", err)
	}
	if !stands(t, r, "other", other.Location) || stands(t, r, "third", other.Location) {
		t.Error("a rename that failed moved the table")
	}
}

// A process may die at each request of a rename. Afterwards exactly one of the two names stands for
// the table, at once and for good, and both names can be used again.
func TestRenameSurvivesACrashAnywhere(t *testing.T) {
	for n := 1; ; n++ {
		inner := memstore.New()
		record, etag := makeTable(t, registry(t, inner, start), "old")
		faulty := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
			return faultstore.Fault{Crash: call.N >= n, Lost: call.N == n}
		})
		_, err := registry(t, faulty, start).Rename(t.Context(), record, etag, id("new"))
		if faulty.Snapshot().Requests < n {
			if err != nil {
				t.Fatalf("without a crash: %v", err)
			}
			return
		}
		now, later := registry(t, inner, start), registry(t, inner, start.Add(2*naming.RenameLease))
		before := stands(t, now, "old", record.Location)
		if before == stands(t, now, "new", record.Location) {
			t.Errorf("crash at request %d: the table has both names or none", n)
		}
		if err == nil && before {
			t.Errorf("crash at request %d: the rename succeeded without effect", n)
		}
		for range 2 {
			if old, moved := stands(t, later, "old", record.Location), stands(t, later, "new", record.Location); old != before || moved == before {
				t.Errorf("crash at request %d: later, the table is at its old name: %v, at its new one: %v", n, old, moved)
			}
		}
		if before {
			makeTable(t, later, "new")
		} else {
			makeTable(t, later, "old")
		}
	}
}

func TestNameBeingTakenIsNotFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry(t, memstore.New(), start)
		old, _ := makeTable(t, r, "old")
		arriving := *old
		arriving.ID, arriving.UID, arriving.RenamedFrom = id("new"), "arriving", old.ID
		arriving.Arriving = &stored.Arrival{UID: old.UID, Until: start.Add(naming.RenameLease)}
		if _, err := r.Store.Write(t.Context(), keys.Table(arriving.ID), &arriving, objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
		if found, err := r.Settled(t.Context(), id("new")); err != nil || !found.Soon || found.Record != nil {
			t.Errorf("the new name before the commit: got %+v, %v", found, err)
		}
		if err := r.AwaitFree(t.Context(), id("new"), 0); err != nil {
			t.Errorf("a name being taken: got %v, want a further try", err)
		}
		wantCode(t, "a taken name", r.AwaitFree(t.Context(), id("old"), 0), protocol.TableAlreadyExists)
		if err := r.AwaitFree(t.Context(), id("free"), 0); err != nil {
			t.Errorf("a free name: %v", err)
		}
	})
}

func TestDecideHappensOnce(t *testing.T) {
	inner := memstore.New()
	faulty := faultstore.New(inner, nil)
	r := registry(t, faulty, start)
	faulty.Inject(func(call faultstore.Call) faultstore.Fault {
		return faultstore.Fault{Lost: call.Kind == faultstore.PutIfAbsent} // each answer is lost
	})
	for _, want := range []stored.Outcome{stored.Committed, stored.Aborted} {
		if got, err := r.Decide(t.Context(), "b", stored.Decision{Outcome: want}); err != nil || got != stored.Committed {
			t.Errorf("who wants %s gets %s, %v; want committed", want, got, err)
		}
	}
	if d, err := r.DecisionOf(t.Context(), "another"); err != nil || d.Outcome != stored.Undecided {
		t.Errorf("a batch without decision: got %+v, %v", d, err)
	}
	if _, err := inner.Put(t.Context(), stored.BatchesPrefix+"bad", []byte(`{"outcome":"maybe"}`), objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.DecisionOf(t.Context(), "bad"); err == nil {
		t.Error("an unknown outcome is accepted")
	}
}

func TestLastOfFindsTheCommittedBatchOfARequest(t *testing.T) {
	r := registry(t, memstore.New(), start)
	gone := &stored.Table{ID: id("gone"), UID: "u"}
	for name, d := range map[string]stored.Decision{
		"request-1": {Outcome: stored.Aborted}, "request-2": {Outcome: stored.Committed, Removed: []*stored.Table{gone}}, "other-3": {Outcome: stored.Committed},
	} {
		if _, err := r.Decide(t.Context(), name, d); err != nil {
			t.Fatal(err)
		}
	}
	last, err := r.LastOf(t.Context(), "request")
	if err != nil || last.RemovedTable(id("gone")) == nil || last.RemovedTable(id("there")) != nil {
		t.Errorf("got decision %+v, %v; want the one that removed the table", last, err)
	}
	if last, err := r.LastOf(t.Context(), "reques"); err != nil || last != nil {
		t.Errorf("of another request: got %+v, %v", last, err)
	}
}

// pend puts operations of a batch into the record of a table.
func pend(t *testing.T, r *naming.Registry, record *stored.Table, p stored.Pending) {
	t.Helper()
	p.Batch, p.Until = "b", start.Add(naming.BatchLease)
	next := *record
	next.Pending = &p
	if _, err := r.Store.Write(t.Context(), keys.Table(record.ID), &next, objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
}

func TestReadersCarryOutTheDecisionOfABatch(t *testing.T) {
	m := ledger.Manifest{Version: 1, Data: []byte("version one"), Source: "s"}
	cases := []struct {
		name    string
		outcome stored.Outcome
		late    bool // the lease of the batch has run out
		pending stored.Pending
		exists  bool // afterwards, the name stands for a table
		soon    bool
		version bool // afterwards, version 1 exists
		batch   bool // afterwards, the record still holds the batch
	}{
		{name: "a version, committed", outcome: stored.Committed, pending: stored.Pending{Next: []ledger.Entry{{Version: 1, Name: m.Name(), Source: "s"}}}, exists: true, version: true},
		{name: "a version, aborted", outcome: stored.Aborted, pending: stored.Pending{Next: []ledger.Entry{{Version: 1, Name: m.Name(), Source: "s"}}}, exists: true},
		{name: "a version, undecided", pending: stored.Pending{Next: []ledger.Entry{{Version: 1, Name: m.Name(), Source: "s"}}}, exists: true, batch: true},
		{name: "a version, never decided", late: true, pending: stored.Pending{Next: []ledger.Entry{{Version: 1, Name: m.Name(), Source: "s"}}}, exists: true},
		{name: "a new table, committed", outcome: stored.Committed, pending: stored.Pending{New: true}, exists: true},
		{name: "a new table, aborted", outcome: stored.Aborted, pending: stored.Pending{New: true}},
		{name: "a new table, undecided", pending: stored.Pending{New: true}, soon: true},
		{name: "a new table, never decided", late: true, pending: stored.Pending{New: true}},
		{name: "a removal, committed", outcome: stored.Committed, pending: stored.Pending{Gone: true}},
		{name: "a removal, aborted", outcome: stored.Aborted, pending: stored.Pending{Gone: true}, exists: true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			store := memstore.New()
			r := registry(t, store, start)
			record, _ := makeTable(t, r, "t")
			for i := range c.pending.Next {
				var err error
				if c.pending.Next[i].Copy, err = r.Writer.PutCopy(t.Context(), m); err != nil {
					t.Fatal(err)
				}
			}
			pend(t, r, record, c.pending)
			if c.outcome != stored.Undecided {
				if _, err := r.Decide(t.Context(), "b", stored.Decision{Outcome: c.outcome}); err != nil {
					t.Fatal(err)
				}
			}
			if c.late {
				r = registry(t, store, start.Add(naming.BatchLease))
			}
			for range 2 { // the second reader finds what the first has settled
				found, err := r.Settled(t.Context(), id("t"))
				if err != nil || (found.Record != nil) != c.exists || found.Soon != c.soon {
					t.Fatalf("got %+v, %v; exists should be %v, soon %v", found, err, c.exists, c.soon)
				}
				if c.exists && (found.Record.Pending != nil) != c.batch {
					t.Errorf("the record has batch %+v", found.Record.Pending)
				}
			}
			at, err := r.Locate(record)
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = store.Get(t.Context(), manifest.Key(at.Prefix, 1, manifest.V2))
			if (err == nil) != c.version {
				t.Errorf("version 1: got %v, exists should be %v", err, c.version)
			}
		})
	}
}

// Who removes a table does not wait for a batch on it.
func TestTableToRemoveAbortsAnUndecidedBatch(t *testing.T) {
	r := registry(t, memstore.New(), start)
	record, _ := makeTable(t, r, "t")
	pend(t, r, record, stored.Pending{Gone: true})
	got, _, err := r.TableToRemove(t.Context(), record.ID)
	if err != nil || got.Pending != nil {
		t.Errorf("got %+v, %v; want the table without the batch", got, err)
	}
	if outcome, err := r.Decide(t.Context(), "b", stored.Decision{Outcome: stored.Committed}); err != nil || outcome != stored.Aborted {
		t.Errorf("the batch is %s, %v; want aborted", outcome, err)
	}
}
