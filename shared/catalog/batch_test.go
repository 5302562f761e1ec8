package catalog

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tiltyard/shared/catalog/batch"
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

var batchTables = []string{"a", "b", "c"}

// prepareBatch makes tables with ledgers and without, each of one version.
func prepareBatch(t *testing.T) func(*Catalog) {
	return func(c *Catalog) {
		makeTable(t, c, "a", true)
		makeTable(t, c, "b", false)
		makeTable(t, c, "c", true)
	}
}

// batchOf is a batch of the next version of each table.
func batchOf(source string, version uint64, tables ...string) []batch.Operation {
	var entries []batch.Operation
	for _, name := range tables {
		m := manifestOf(version, source+" "+name)
		entries = append(entries, batch.Operation{ID: []string{name}, Create: &m})
	}
	return entries
}

// commit does operations as one batch, whose request they are.
func commit(ctx context.Context, c *Catalog, operations []batch.Operation) ([]BatchResult, error) {
	request := ""
	for _, op := range operations {
		request += fmt.Sprintf("%q %v %v|", op.ID, op.Deregister, op.Delete)
		if op.Create != nil {
			request += fmt.Sprint(op.Create.Version, op.Create.Source)
		}
		if op.Declare != nil {
			request += fmt.Sprint(op.Declare.Properties)
		}
	}
	return c.CommitBatch(ctx, &batch.Batch{Request: []byte(request), Operations: operations})
}

// allOrNone reports whether the tables have the versions of a batch. It fails if only some have.
func allOrNone(t *testing.T, c *Catalog, source string) bool {
	t.Helper()
	found := 0
	for _, name := range batchTables {
		if slices.Contains(history(t, c, name), source+" "+name) {
			found++
		}
	}
	if found != 0 && found != len(batchTables) {
		t.Fatalf("%d of %d versions of a batch are there", found, len(batchTables))
	}
	return found > 0
}

func TestBatchSurvivesACrashAnywhere(t *testing.T) {
	eachFault(t, prepareBatch(t),
		func(c *Catalog) error {
			_, err := commit(t.Context(), c, batchOf("batch", 2, batchTables...))
			return err
		},
		func(t *testing.T, inner objectstore.Store, result error) {
			now := allOrNone(t, open(t, inner), "batch")
			if result == nil && !now {
				t.Fatal("the batch was committed, and is not there")
			}
			later := afterLease(t, inner)
			if then := allOrNone(t, later, "batch"); then != now {
				t.Fatalf("the batch is there: %v; and later: %v", now, then)
			}
			// The same batch again, and then the next one: no writer is stuck.
			if _, err := commit(t.Context(), later, batchOf("batch", 2, batchTables...)); err != nil {
				t.Errorf("once more: %v", err)
			}
			if !allOrNone(t, later, "batch") {
				t.Error("once more, the batch is not there")
			}
			if err := publish(t.Context(), later, "b", manifestOf(3, "single")); err != nil {
				t.Errorf("a version after the batch: %v", err)
			}
			for _, name := range batchTables {
				if table, err := later.Table(t.Context(), []string{name}); err != nil || !table.Managed {
					t.Errorf("table %s is managed: %v (%v), want true", name, table.Managed, err)
				}
			}
		})
}

func TestWritersGoPastABatchWhoseMakerDied(t *testing.T) {
	inner := memstore.New()
	prepareBatch(t)(open(t, inner))
	dead := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
		return faultstore.Fault{Crash: strings.HasPrefix(call.Key, stored.BatchesPrefix)}
	})
	if _, err := commit(t.Context(), open(t, dead), batchOf("batch", 2, batchTables...)); err == nil {
		t.Fatal("the maker of the batch lives")
	}
	c := open(t, inner)
	if table, err := c.Table(t.Context(), []string{"b"}); err != nil || !table.Managed {
		t.Fatalf("a table that a batch is about is managed: %v (%v), want true", table.Managed, err)
	}
	if _, err := c.DropTable(t.Context(), []string{"a"}); err != nil {
		t.Errorf("drop: %v", err)
	}
	if err := publish(t.Context(), c, "b", manifestOf(2, "single")); err != nil {
		t.Errorf("publish: %v", err)
	}
	if got, want := fmt.Sprint(history(t, c, "b"), history(t, c, "c")), "[b first single] [c first]"; got != want {
		t.Errorf("histories are %s, want %s", got, want)
	}
}

func TestBatchWhoseDecisionIsUnknownStands(t *testing.T) {
	inner := memstore.New()
	prepareBatch(t)(open(t, inner))
	mute := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
		return faultstore.Fault{Lost: strings.HasPrefix(call.Key, stored.BatchesPrefix)}
	})
	_, err := commit(t.Context(), open(t, mute), batchOf("batch", 2, batchTables...))
	var told *protocol.Error
	if !errors.As(err, &told) || !told.Unsettled {
		t.Errorf("got %v, want an error that leaves it open", err)
	}
	if !allOrNone(t, open(t, inner), "batch") {
		t.Error("the batch was committed, and is not there")
	}
}

func TestBatchComesAfterWriterThatDidNotKnowOfIt(t *testing.T) {
	inner := memstore.New()
	c := open(t, inner)
	prepareBatch(t)(c)
	table, err := c.Table(t.Context(), []string{"b"})
	if err != nil {
		t.Fatal(err)
	}
	slow := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
		if call.Kind == faultstore.PutIfMatch && call.Key == keys.Table(table.ID) {
			_, err = inner.Put(t.Context(), manifest.Key(table.Location.Prefix, 2, manifest.V2), []byte("direct"), objectstore.Condition{})
		}
		return faultstore.Fault{}
	})
	_, lost := commit(t.Context(), open(t, slow), batchOf("batch", 2, batchTables...))
	if err != nil || code(lost) != "ConcurrentModification" {
		t.Errorf("got %v, %v; want ConcurrentModification", err, lost)
	}
	if got, want := fmt.Sprint(history(t, c, "a"), history(t, c, "b")), "[a first] [b first direct]"; got != want {
		t.Errorf("histories are %s, want %s", got, want)
	}
}

// The batch waits for a writer that looked at the record just before, and puts the version just
// after.
func TestFirstBatchWaitsForWritersThatDoNotKnowOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memstore.New()
		prepareBatch(t)(open(t, inner))
		c := open(t, inner)
		table, err := c.Table(t.Context(), []string{"b"})
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(batch.FirstPause/2, func() {
			_, _ = inner.Put(context.Background(), manifest.Key(table.Location.Prefix, 2, manifest.V2), []byte("direct"), objectstore.Condition{})
		})
		c.batches.FirstPause = batch.FirstPause
		if _, err := commit(t.Context(), c, batchOf("batch", 2, batchTables...)); code(err) != "ConcurrentModification" {
			t.Errorf("got %v, want ConcurrentModification", err)
		}
		if got, want := fmt.Sprint(history(t, c, "a"), history(t, c, "b")), "[a first] [b first direct]"; got != want {
			t.Errorf("histories are %s, want %s", got, want)
		}
	})
}

// A version that another writer puts after the batch's last look is not overwritten.
func TestBatchGivesWayToWhatIsPutAtItsPlace(t *testing.T) {
	inner := memstore.New()
	c := open(t, inner)
	prepareBatch(t)(c)
	table, err := c.Table(t.Context(), []string{"b"})
	if err != nil {
		t.Fatal(err)
	}
	slow := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
		if strings.HasPrefix(call.Key, stored.BatchesPrefix) && call.Kind == faultstore.PutIfAbsent {
			_, err = inner.Put(t.Context(), manifest.Key(table.Location.Prefix, 2, manifest.V2), []byte("direct"), objectstore.Condition{IfAbsent: true})
		}
		return faultstore.Fault{}
	})
	_, lost := commit(t.Context(), open(t, slow), batchOf("batch", 2, batchTables...))
	if err != nil || code(lost) != "ConcurrentModification" || !strings.Contains(fmt.Sprint(lost), "entry 1") {
		t.Errorf("got %v, %v; want ConcurrentModification of entry 1", err, lost)
	}
	if got, want := fmt.Sprint(history(t, c, "a"), history(t, c, "b")), "[a first batch a] [b first direct]"; got != want {
		t.Errorf("histories are %s, want %s", got, want)
	}
	if err := publish(t.Context(), c, "b", manifestOf(3, "next")); err != nil {
		t.Errorf("the next version: %v", err)
	}
}

func TestConflictsOfABatchAreNamed(t *testing.T) {
	c := open(t, memstore.New())
	prepareBatch(t)(c)
	missing := batch.Operation{ID: []string{"c"}, Create: &ledger.Manifest{Version: 2, Source: "nothing"}}
	for _, test := range []struct {
		entries []batch.Operation
		code    string
		text    string
	}{
		{append(batchOf("x", 2, "a"), batchOf("x", 3, "b")...), "ConcurrentModification", "entry 1 of the batch: version 3 of table b is not the next one"},
		{append(batchOf("x", 2, "a", "b"), batchOf("x", 1, "c")...), "ConcurrentModification", "entry 2 of the batch: version 1 of table c exists already"},
		{batchOf("x", 2, "a", "none"), "TableNotFound", "entry 1 of the batch: table none does not exist"},
		{append(batchOf("x", 2, "a"), missing), "InvalidInput", "entry 1 of the batch: there is no manifest"},
	} {
		_, err := commit(t.Context(), c, test.entries)
		if code(err) != test.code || !strings.HasPrefix(fmt.Sprint(err), test.text) {
			t.Errorf("got %v, want %s, %s…", err, test.code, test.text)
		}
	}
	for _, name := range batchTables {
		if got := history(t, c, name); len(got) != 1 {
			t.Errorf("table %s has %q, want its first version only", name, got)
		}
	}
	if table, err := c.Table(t.Context(), []string{"b"}); err != nil || table.Managed {
		t.Errorf("after batches that failed the table is managed: %v (%v), want false", table.Managed, err)
	}
}

func TestBatchMakesSeveralVersionsOfATable(t *testing.T) {
	c := open(t, memstore.New())
	prepareBatch(t)(c)
	entries := append(batchOf("x", 3, "a"), batchOf("y", 2, "a", "b")...)
	results, err := commit(t.Context(), c, entries)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(history(t, c, "a"), history(t, c, "b")), "[a first y a x a] [b first y b]"; got != want {
		t.Errorf("histories are %s, want %s", got, want)
	}
	for i, result := range results {
		info := result.Version
		if !strings.HasSuffix(info.Key, entries[i].Create.Name()) || info.ETag == "" {
			t.Errorf("entry %d was made as %+v", i, info)
		}
	}
}

func TestReadsUnderWaySeeABatch(t *testing.T) {
	inner := memstore.New()
	prepareBatch(t)(open(t, inner))
	reader := open(t, inner)
	if _, err := reader.Lookup(t.Context(), []string{"b"}); err != nil {
		t.Fatal(err)
	}
	found, err := reader.Lookup(t.Context(), []string{"b"}) // from memory
	if err != nil || found.Confirm() != nil {
		t.Fatal(err, found.Confirm())
	}
	if _, err := commit(t.Context(), open(t, inner), batchOf("x", 2, "a", "b")); err != nil {
		t.Fatal(err)
	}
	if found, err = reader.Lookup(t.Context(), []string{"b"}); err != nil || found.Confirm() == nil {
		t.Errorf("a read that began with what was known before the batch is confirmed: %v", err)
	}
	if _, err := commit(t.Context(), open(t, inner), batchOf("y", 3, "a", "b")); err != nil {
		t.Fatal(err)
	}
	if found, err = reader.Lookup(t.Context(), []string{"b"}); err != nil || found.Confirm() == nil {
		t.Errorf("a read that began with what was known before the second batch is confirmed: %v", err)
	}
}

// A race is a set of writers of batches and of single versions at the same tables. Each makes its
// versions from those that it has read. A manifest is called "<writer>.<try> <tables> <table>".
type race struct {
	inner  objectstore.Store
	tables []string
	clock  atomic.Int64 // goes on with each look at it, so that leases run out
	tick   time.Duration
	crash  float64 // chance that the process dies at a request
}

func (r *race) open(t *testing.T, store objectstore.Store) *Catalog {
	c := open(t, store)
	c.names.Now = func() time.Time { return time.Unix(0, r.clock.Add(int64(r.tick))) }
	return c
}

// process opens the catalog as a process does that may die.
func (r *race) process(t *testing.T, random *rand.Rand) *Catalog {
	var mu sync.Mutex
	return r.open(t, faultstore.New(r.inner, func(faultstore.Call) faultstore.Fault {
		mu.Lock()
		defer mu.Unlock()
		return faultstore.Fault{Crash: random.Float64() < r.crash, Lost: random.IntN(2) == 0 && random.Float64() < 2*r.crash}
	}))
}

// try makes versions of some tables, and returns what they were called.
func (r *race) try(t *testing.T, random *rand.Rand, name string) ([]batch.Operation, error) {
	c := r.open(t, r.inner)
	chosen := random.Perm(len(r.tables))[:1+random.IntN(3)]
	all := ""
	for _, k := range chosen {
		all += r.tables[k]
	}
	var entries []batch.Operation
	for _, k := range chosen {
		table := r.tables[k]
		version := uint64(len(history(t, c, table)) + 1)
		m := manifestOf(version, name+" "+all+" "+table)
		entries = append(entries, batch.Operation{ID: []string{table}, Create: &m})
	}
	c = r.process(t, random)
	if len(entries) == 1 {
		return entries, publish(t.Context(), c, all, *entries[0].Create)
	}
	_, err := commit(t.Context(), c, entries)
	return entries, err
}

// look reads the tables in some order, and checks that a reader that sees a batch's version in one
// table sees it in all tables that it reads later.
func (r *race) look(t *testing.T, random *rand.Rand) {
	c := r.open(t, r.inner)
	seen := map[string]bool{}
	for _, k := range random.Perm(len(r.tables)) {
		table := r.tables[k]
		there := history(t, c, table)
		for source := range seen {
			if batch, tables := cutSource(source); strings.Contains(tables, table) && !slices.Contains(there, batch+" "+tables+" "+table) {
				t.Errorf("%q is seen, and after that not in table %s: %q", source, table, there)
			}
		}
		for _, source := range there[1:] {
			seen[source] = true
		}
	}
}

func cutSource(source string) (batch, tables string) {
	parts := strings.Split(source, " ")
	return parts[0], parts[1]
}

func TestRacingBatches(t *testing.T) {
	for _, crash := range []float64{0, 0.02} {
		for seed := range uint64(20) {
			t.Run(fmt.Sprintf("crash %v seed %d", crash, seed), func(t *testing.T) { testRace(t, crash, seed) })
		}
	}
}

func testRace(t *testing.T, crash float64, seed uint64) {
	const writers, rounds = 5, 8
	r := &race{inner: memstore.New(), tables: []string{"a", "b", "c", "d"}, crash: crash, tick: time.Millisecond}
	if crash > 0 {
		r.tick = naming.BatchLease / 5
	}
	for _, name := range r.tables {
		makeTable(t, r.open(t, r.inner), name, true) // others may lose to it: see below
	}
	type tried struct {
		entries []batch.Operation
		err     error
	}
	tries := make([][]tried, writers)
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(w)))
			for n := range rounds {
				entries, err := r.try(t, random, fmt.Sprintf("%d.%d", w, n))
				tries[w] = append(tries[w], tried{entries, err})
				r.look(t, random)
			}
		})
	}
	group.Wait()
	r.clock.Add(int64(naming.BatchLease))
	c := r.open(t, r.inner)
	made, total := 0, -len(r.tables)
	for _, name := range r.tables {
		total += len(history(t, c, name))
	}
	for _, try := range slices.Concat(tries...) {
		found := 0
		for _, e := range try.entries {
			if slices.Contains(history(t, c, e.ID[0]), e.Create.Source) {
				found++
			}
		}
		made += found
		lost := code(try.err) == "ConcurrentModification"
		switch {
		case found != 0 && found != len(try.entries):
			t.Errorf("%d of %d versions of %q are there", found, len(try.entries), try.entries[0].Create.Source)
		case try.err == nil && found == 0, lost && found > 0, try.err != nil && !lost && crash == 0:
			t.Errorf("%d versions of %q are there; their writer was told %v", found, try.entries[0].Create.Source, try.err)
		}
	}
	if total != made || crash == 0 && made == 0 {
		t.Errorf("%d versions are there, and writers made %d", total, made)
	}
}
