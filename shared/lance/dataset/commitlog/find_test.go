package commitlog_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/commitlog"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

func TestCommitsAreFoundByTheirID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := datasettest.TableIn(memstore.New())
		named := table.CommitAs(func() string { return "one" })
		find := func(id string, since time.Time) uint64 {
			d, _, err := commitlog.Find(t.Context(), table, id, since)
			if errors.Is(err, dataset.ErrNoTransaction) {
				return 0
			}
			if err != nil {
				t.Fatal(err)
			}
			return d.Version()
		}
		if got := find("one", time.Now()); got != 0 {
			t.Errorf("without a table: got version %d, want none", got)
		}
		datasettest.Create(t, table, 1)
		start := time.Now()
		if _, err := named.Append(t.Context(), datasettest.RowsOf(2)); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			time.Sleep(time.Hour)
			if _, err := table.Append(t.Context(), datasettest.RowsOf(3)); err != nil {
				t.Fatal(err)
			}
		}
		if got := find("one", start); got != 2 {
			t.Errorf("got version %d, want 2", got)
		}
		if got := find("other", start); got != 0 {
			t.Errorf("another id: got version %d, want none", got)
		}
		if got := find("one", start.Add(time.Hour)); got != 0 {
			t.Errorf("begun later: got version %d, want none", got)
		}
	})
}

// Each search reads the versions since the last one, and no history of a table that was there before.
func TestSearchesShareWhatTheyHaveRead(t *testing.T) {
	store := memstore.New()
	writer, searcher := datasettest.TableIn(store), datasettest.TableIn(objectstore.Counting(store))
	search := func(id string) (version uint64, reads int64) {
		t.Helper()
		var usage objectstore.Usage
		d, _, err := commitlog.Find(objectstore.WithUsage(t.Context(), &usage), searcher, id, time.Now())
		if errors.Is(err, dataset.ErrNoTransaction) {
			return 0, usage.Requests()
		}
		if err != nil {
			t.Fatal(err)
		}
		return d.Version(), usage.Requests()
	}
	grow := func(n int, id string) {
		t.Helper()
		table := writer
		if id != "" {
			table = writer.CommitAs(func() string { return id })
		}
		for range n {
			if _, err := table.Append(t.Context(), datasettest.RowsOf(1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	datasettest.Create(t, writer, 1)
	grow(49, "")
	if version, reads := search("none"); version != 0 || reads < 50 {
		t.Errorf("the first search: got version %d with %d requests, want none and 50 at least", version, reads)
	}
	grow(3, "")
	grow(1, "one")
	if version, reads := search("none"); version != 0 || reads > 12 {
		t.Errorf("after four commits: got version %d with %d requests, want none and 12 at most", version, reads)
	}
	if version, _ := search("one"); version != 54 {
		t.Errorf("got version %d, want 54", version)
	}

	objects, err := store.List(t.Context(), objectstore.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects.Objects {
		if err := store.Delete(t.Context(), o.Key, objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	writer = datasettest.TableIn(store)
	datasettest.Create(t, writer, 1)
	grow(1, "two")
	grow(60, "")
	if version, _ := search("one"); version != 0 {
		t.Errorf("in a table made later: got version %d of the one before", version)
	}
	if version, _ := search("two"); version != 2 {
		t.Errorf("in a table made later: got version %d, want 2", version)
	}
}

// A process suspended during its commit finds that a retry has made it. A search after a failed
// one, at any request, finds the commit.
func TestSearchesThatFailLeaveNothingWrong(t *testing.T) {
	store := memstore.New()
	writer := datasettest.TableIn(store)
	datasettest.Create(t, writer, 1)
	if _, err := writer.CommitAs(func() string { return "one" }).Append(t.Context(), datasettest.RowsOf(1)); err != nil {
		t.Fatal(err)
	}
	for n := 1; ; n++ {
		failed := false
		searcher := datasettest.TableIn(faultstore.New(store, func(call faultstore.Call) faultstore.Fault {
			if call.N != n {
				return faultstore.Fault{}
			}
			failed = true
			return faultstore.Fault{Err: errors.New("out of order")}
		}))
		first, _, err := commitlog.Find(t.Context(), searcher, "one", time.Now())
		if !failed {
			if err != nil || n < 4 {
				t.Errorf("a search of %d requests: %v", n, err)
			}
			return
		}
		if err == nil && first.Version() != 2 {
			t.Errorf("failure at request %d: got version %d, want 2", n, first.Version())
		}
		if d, _, err := commitlog.Find(t.Context(), searcher, "one", time.Now()); err != nil || d.Version() != 2 {
			t.Errorf("after a failure at request %d: got %v, %v, want version 2", n, d, err)
		}
	}
}

func TestCommitThatWasMadeByAnotherTryIsNotMadeAgain(t *testing.T) {
	store := memstore.New()
	id := func() string { return "one" }
	frozen, other := datasettest.TableIn(store).CommitAs(id), datasettest.TableIn(store).CommitAs(id)
	datasettest.Create(t, datasettest.TableIn(store), 1)
	old, err := frozen.Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rows := datasettest.RowsOf(2)
	for _, add := range []func() error{
		func() error { _, err := other.Append(t.Context(), rows); return err },
		func() error {
			_, err := datasettest.TableIn(store).Append(t.Context(), datasettest.RowsOf(3))
			return err
		},
	} {
		if err := add(); err != nil {
			t.Fatal(err)
		}
	}
	made, err := old.Replace(t.Context(), dataset.Replacement{Insert: rows})
	if err != nil || made.Dataset.Version() != 2 {
		t.Errorf("got %+v, %v; want version 2, of the other try", made, err)
	}
	if latest, err := datasettest.TableIn(store).Latest(t.Context()); err != nil || latest.CountRows() != 3 {
		t.Errorf("got %d rows, %v; want 3", latest.CountRows(), err)
	}
}

// Open versions are shared by all users, but the commit options of one user's view do not affect
// the others.
func TestVersionsDoNotKeepHowTheyWereMade(t *testing.T) {
	store := memstore.New()
	datasettest.Create(t, datasettest.TableIn(store), 1)
	for name, open := range map[string]func(named *dataset.Table) (*dataset.Dataset, error){
		"opened": func(named *dataset.Table) (*dataset.Dataset, error) { return named.Latest(t.Context()) },
		"committed": func(named *dataset.Table) (*dataset.Dataset, error) {
			made, err := named.Append(t.Context(), datasettest.RowsOf(2))
			return made.Dataset, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			table := datasettest.TableIn(store)
			theirs, err := open(table.CommitAs(func() string { return "one" }))
			if err != nil {
				t.Fatal(err)
			}
			mine, err := table.Latest(t.Context())
			if err != nil || mine.Version() != theirs.Version() {
				t.Fatalf("got version %d, %v; want %d", mine.Version(), err, theirs.Version())
			}
			made, err := mine.Replace(t.Context(), dataset.Replacement{Insert: datasettest.RowsOf(3)})
			if err != nil {
				t.Fatal(err)
			}
			if id := made.Dataset.TransactionUUID(); id == "one" {
				t.Errorf("got the id %q of another's change", id)
			}
		})
	}
}
