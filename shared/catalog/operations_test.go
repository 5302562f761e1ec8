package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tiltyard/shared/catalog/batch"
	"tiltyard/shared/catalog/ledger"
	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// prepareOperations makes what a batch of each kind of operation is about.
func prepareOperations(t *testing.T) func(*Catalog) {
	return func(c *Catalog) {
		makeTable(t, c, "a", true)
		if err := publish(t.Context(), c, "a", manifestOf(2, "a second")); err != nil {
			t.Fatal(err)
		}
		makeTable(t, c, "gone", false)
		makeTable(t, c, "swapped", false)
	}
}

// allKinds makes version 3 of a and deletes version 1, declares new with a first version,
// deregisters gone, and puts another table in the place of swapped. It is always the same request.
func allKinds(ctx context.Context, c *Catalog) ([]BatchResult, error) {
	third, first := manifestOf(3, "a third"), manifestOf(1, "new first")
	operations := []batch.Operation{
		{ID: []string{"new"}, Declare: &batch.Declaration{Location: c.roots.Join("new.lance")}},
		{ID: []string{"new"}, Create: &first},
		{ID: []string{"gone"}, Deregister: true},
		{ID: []string{"swapped"}, Deregister: true},
		{ID: []string{"swapped"}, Declare: &batch.Declaration{Location: c.roots.Join("other.lance"), Properties: map[string]string{"is": "other"}}},
		{ID: []string{"a"}, Create: &third},
		{ID: []string{"a"}, Delete: []objectstore.Info{}},
	}
	a, err := c.Table(ctx, []string{"a"})
	if err != nil {
		return nil, err
	}
	_, info, err := c.store.GetRanges(ctx, manifest.Key(a.Location.Prefix, 1, manifest.V2))
	if err == nil {
		operations[6].Delete = []objectstore.Info{info}
	} else if !errors.Is(err, objectstore.ErrNotExist) {
		return nil, err
	}
	return c.CommitBatch(ctx, &batch.Batch{Request: []byte("all kinds"), Operations: operations})
}

// kindsDone describes the effects of allKinds that a reader finds.
func kindsDone(t *testing.T, c *Catalog) string {
	t.Helper()
	names, _, err := c.Lists.Names(t.Context(), lists.Tables, nil, "", lists.NoLimit)
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.Table(t.Context(), []string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	var versions []string
	for v := uint64(1); v < 5; v++ {
		data, _, err := a.Location.Store.Get(t.Context(), manifest.Key(a.Location.Prefix, v, manifest.V2))
		if err == nil {
			versions = append(versions, string(data))
		}
	}
	swapped, err := c.Table(t.Context(), []string{"swapped"})
	if err != nil {
		t.Fatal(err)
	}
	inside := ""
	if slices.Contains(names, "new") {
		inside = fmt.Sprint(history(t, c, "new"))
	}
	return strings.TrimSpace(fmt.Sprint(names, " ", versions, " ", swapped.Properties["is"], " ", inside))
}

const (
	kindsBefore = "[a gone swapped] [a first a second]"
	kindsAfter  = "[a new swapped] [a second a third] other [new first]"
)

func TestBatchOfAllKindsSurvivesACrashAnywhere(t *testing.T) {
	eachFault(t, prepareOperations(t),
		func(c *Catalog) error {
			_, err := allKinds(t.Context(), c)
			return err
		},
		func(t *testing.T, inner objectstore.Store, result error) {
			now := kindsDone(t, open(t, inner))
			if now != kindsBefore && now != kindsAfter {
				t.Fatalf("got %s, want %s or %s", now, kindsBefore, kindsAfter)
			}
			if result == nil && now != kindsAfter {
				t.Fatal("the batch was committed, and is not there")
			}
			later := afterLease(t, inner)
			if then := kindsDone(t, later); then != now {
				t.Fatalf("got %s, and later %s", now, then)
			}
			// The same batch again succeeds, in any process.
			results, err := allKinds(t.Context(), later)
			if err != nil {
				t.Fatalf("once more: %v", err)
			}
			if then := kindsDone(t, later); then != kindsAfter {
				t.Fatalf("once more, got %s, want %s", then, kindsAfter)
			}
			if old, made := results[3].Table.Location.URI, results[4].Table.Location.URI; old == made || !strings.HasSuffix(made, "other.lance") {
				t.Errorf("once more, table %s was swapped for %s", old, made)
			}
			if err := publish(t.Context(), later, "new", manifestOf(2, "single")); err != nil {
				t.Errorf("a version after the batch: %v", err)
			}
			checkSwept(t, inner)
		})
}

// checkSwept sweeps, and checks that no object of a batch is left.
func checkSwept(t *testing.T, inner objectstore.Store) {
	t.Helper()
	c := open(t, inner)
	c.names.Now = func() time.Time { return time.Now().Add(48 * time.Hour) }
	if _, err := c.Sweeper.Sweep(t.Context(), 0); err != nil {
		t.Errorf("sweep: %v", err)
	}
	for _, prefix := range []string{stored.BatchesPrefix, ledger.CopiesPrefix} {
		if left, err := inner.List(t.Context(), objectstore.ListOptions{Prefix: prefix}); err != nil || len(left.Objects) > 0 {
			t.Errorf("a sweep left %v (%v)", left.Objects, err)
		}
	}
}

// A sweep carries out the rest of a committed batch, and keeps young objects.
func TestSweepFinishesBatches(t *testing.T) {
	inner := memstore.New()
	prepareOperations(t)(open(t, inner))
	dead := false
	dying := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
		crash := dead
		dead = dead || strings.HasPrefix(call.Key, stored.BatchesPrefix) && call.Kind == faultstore.PutIfAbsent
		return faultstore.Fault{Crash: crash}
	})
	_, _ = allKinds(t.Context(), open(t, dying))
	if deleted, err := open(t, inner).Sweeper.Sweep(t.Context(), 0); err != nil || deleted != 0 {
		t.Errorf("a sweep took %d objects that are young (%v)", deleted, err)
	}
	checkSwept(t, inner)
	if got := kindsDone(t, open(t, inner)); got != kindsAfter {
		t.Errorf("got %s, want %s", got, kindsAfter)
	}
}

// A reader without the right to write ignores an undecided batch whose maker died.
func TestReadersWithoutPermissionGoPastADeadBatch(t *testing.T) {
	inner := memstore.New()
	prepareOperations(t)(open(t, inner))
	dead := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
		return faultstore.Fault{Crash: strings.HasPrefix(call.Key, stored.BatchesPrefix) && call.Kind == faultstore.PutIfAbsent}
	})
	if _, err := allKinds(t.Context(), open(t, dead)); err == nil {
		t.Fatal("the maker of the batch lives")
	}
	readOnly := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
		if call.Kind == faultstore.Get || call.Kind == faultstore.List || call.Kind == faultstore.Range || call.Kind == faultstore.Head {
			return faultstore.Fault{}
		}
		return faultstore.Fault{Err: errors.New("access denied")}
	})
	if got := kindsDone(t, afterLease(t, readOnly)); got != kindsBefore {
		t.Errorf("got %s, want %s", got, kindsBefore)
	}
}

func TestOperationsOfABatchMustFit(t *testing.T) {
	id := []string{"a"}
	at := &batch.Declaration{}
	first := manifestOf(1, "x")
	for _, test := range []struct {
		operations []batch.Operation
		code       string
		text       string
	}{
		{[]batch.Operation{{ID: id, Declare: at}}, "TableAlreadyExists", "entry 0 of the batch: table a already exists"},
		{[]batch.Operation{{ID: []string{"z"}, Declare: at}, {ID: []string{"z"}, Declare: at}}, "TableAlreadyExists", "entry 1"},
		{[]batch.Operation{{ID: []string{"z"}, Deregister: true}}, "TableNotFound", "entry 0 of the batch: table z does not exist"},
		{[]batch.Operation{{ID: []string{"n", "z"}, Declare: at}}, "NamespaceNotFound", "entry 0"},
		{[]batch.Operation{{ID: id, Deregister: true}, {ID: id, Deregister: true}}, "TableNotFound", "entry 1"},
		{[]batch.Operation{{ID: id, Delete: []objectstore.Info{}}, {ID: id, Deregister: true}}, "InvalidInput", "entry 1"},
		{[]batch.Operation{{ID: id, Deregister: true}, {ID: id, Create: &first}}, "TableNotFound", "entry 1"},
		{[]batch.Operation{{ID: []string{"z"}, Declare: at}, {ID: id, Create: &first}}, "ConcurrentModification", "entry 1"},
	} {
		c := open(t, memstore.New())
		prepareOperations(t)(c)
		at.Location = c.roots.Join("z.lance")
		_, err := commit(t.Context(), c, test.operations)
		if code(err) != test.code || !strings.HasPrefix(fmt.Sprint(err), test.text) {
			t.Errorf("got %v, want %s, %s…", err, test.code, test.text)
		}
		if got := kindsDone(t, c); got != kindsBefore {
			t.Errorf("after %v there is %s", err, got)
		}
	}
}

// While a batch is undecided, the names in it are neither free nor taken.
func TestNamesWaitForABatch(t *testing.T) {
	inner := memstore.New()
	c := open(t, inner)
	prepareOperations(t)(c)
	var declared, dropped error
	var listed string
	slow := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
		if strings.HasPrefix(call.Key, stored.BatchesPrefix) && call.Kind == faultstore.PutIfAbsent {
			listed = kindsDone(t, c)
			_, declared = c.CreateTable(t.Context(), []string{"new"}, c.Places.New([]string{"new"}), 0, nil)
			_, dropped = c.DeregisterTable(t.Context(), []string{"gone"}) // ends the batch
		}
		return faultstore.Fault{}
	})
	_, err := allKinds(t.Context(), open(t, slow))
	if code(err) != "ConcurrentModification" || code(declared) != "ConcurrentModification" || dropped != nil {
		t.Errorf("the batch got %v, who declared %v, who deregistered %v", err, declared, dropped)
	}
	if listed != kindsBefore {
		t.Errorf("meanwhile there was %s, want %s", listed, kindsBefore)
	}
	if got, want := kindsDone(t, c), strings.Replace(kindsBefore, " gone", "", 1); got != want {
		t.Errorf("after that there is %s, want %s", got, want)
	}
}
