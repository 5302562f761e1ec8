package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tiltyard/shared/catalog/ledger"
	"tiltyard/shared/catalog/namespaces"
	"tiltyard/shared/catalog/naming"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// The contents of the manifests of these tests are their names, because no test parses them.
func manifestOf(version uint64, source string) ledger.Manifest {
	return ledger.Manifest{Version: version, Data: []byte(source), Source: source}
}

// makeTable declares a table and gives it a first version.
func makeTable(t *testing.T, c *Catalog, name string, managed bool) {
	t.Helper()
	id, properties := []string{name}, map[string]string{}
	if managed {
		properties[ledger.ManagedProperty] = "true"
	}
	made, err := c.CreateTable(t.Context(), id, c.Places.New(id), 0, properties)
	if err == nil {
		_, err = c.Publish(t.Context(), made, manifestOf(1, name+" first"))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func publish(ctx context.Context, c *Catalog, name string, m ledger.Manifest) error {
	table, err := c.Table(ctx, []string{name})
	if err == nil {
		_, err = c.Publish(ctx, table, m)
	}
	return err
}

// history returns the manifests of a table, oldest first, as a reader of the catalog finds them.
func history(t *testing.T, c *Catalog, name string) []string {
	t.Helper()
	table, err := c.Table(t.Context(), []string{name})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for version := uint64(1); ; version++ {
		data, _, err := table.Location.Store.Get(t.Context(), manifest.Key(table.Location.Prefix, version, manifest.V2))
		if errors.Is(err, objectstore.ErrNotExist) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, string(data))
	}
}

func TestManagedTablesHaveALedger(t *testing.T) {
	c := open(t, memstore.New())
	if _, err := c.Namespaces.Create(t.Context(), []string{"n"}, map[string]string{ledger.ManagedProperty: "True"}, namespaces.FailIfExists); err != nil {
		t.Fatal(err)
	}
	mustTable(t, c, "plain", "n/within")
	makeTable(t, c, "asked", true)
	for path, want := range map[string]bool{"plain": false, "n/within": true, "asked": true} {
		got, err := c.Table(t.Context(), split(path))
		if err != nil || got.Managed != want {
			t.Errorf("table %s: managed is %v (%v), want %v", path, got.Managed, err, want)
		}
	}
	moved, err := c.RenameTable(t.Context(), []string{"plain"}, []string{"n", "moved"})
	if err != nil || moved.Managed {
		t.Errorf("a table that was renamed is managed: %v (%v), want as it was", moved.Managed, err)
	}
	if moved, err = c.RenameTable(t.Context(), []string{"asked"}, []string{"other"}); err != nil || !moved.Managed {
		t.Errorf("a managed table that was renamed is managed: %v (%v), want true", moved.Managed, err)
	}
	if err := publish(t.Context(), c, "other", manifestOf(2, "second")); err != nil {
		t.Errorf("publish under the new name: %v", err)
	}
}

func TestPublishTakesTheNextVersionAlone(t *testing.T) {
	for _, managed := range []bool{true, false} {
		c := open(t, memstore.New())
		makeTable(t, c, "t", managed)
		for _, try := range []struct {
			m    ledger.Manifest
			want string
		}{
			{manifestOf(3, "early"), "ConcurrentModification"},
			{manifestOf(1, "late"), "ConcurrentModification"},
			{ledger.Manifest{Version: 2, Source: "nothing"}, "InvalidInput"},
			{manifestOf(2, "second"), ""},
			{manifestOf(2, "other"), "ConcurrentModification"},
			{manifestOf(2, "second"), ""},
			{manifestOf(3, "third"), ""},
			{manifestOf(2, "second"), ""},
		} {
			err := publish(t.Context(), c, "t", try.m)
			if got := code(err); got != try.want {
				t.Errorf("managed %v, version %d of %q: got %v, want %q", managed, try.m.Version, try.m.Source, err, try.want)
			}
			if refused := code(err) == "ConcurrentModification"; refused != errors.Is(err, objectstore.ErrPrecondition) {
				t.Errorf("managed %v, %q: a lost race is not known as one: %v", managed, try.m.Source, err)
			}
		}
		if got, want := fmt.Sprint(history(t, c, "t")), "[t first second third]"; got != want {
			t.Errorf("managed %v: history is %s, want %s", managed, got, want)
		}
	}
}

// faults are what may happen to a request.
var faults = []faultstore.Fault{{Crash: true}, {Crash: true, Lost: true}, {Lost: true}, {Err: errors.New("the store is busy")}}

// eachFault runs work over stores that prepare has filled, and that fail once, at each request
// in turn; then it lets check look at what is left.
func eachFault(t *testing.T, prepare func(*Catalog), work func(*Catalog) error, check func(t *testing.T, inner objectstore.Store, result error)) {
	t.Helper()
	for n := 1; ; n++ {
		var reached atomic.Bool
		for _, fault := range faults {
			inner := memstore.New()
			prepare(open(t, inner))
			faulty := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
				if call.N != n {
					return faultstore.Fault{}
				}
				reached.Store(true)
				return fault
			})
			result := work(open(t, faulty))
			t.Run(fmt.Sprintf("request %d crash %v lost %v error %v", n, fault.Crash, fault.Lost, fault.Err != nil), func(t *testing.T) { check(t, inner, result) })
		}
		if !reached.Load() {
			return
		}
	}
}

func TestPublishSurvivesACrashAnywhere(t *testing.T) {
	eachFault(t,
		func(c *Catalog) { makeTable(t, c, "t", true) },
		func(c *Catalog) error { return publish(t.Context(), c, "t", manifestOf(2, "ours")) },
		func(t *testing.T, inner objectstore.Store, result error) {
			c := open(t, inner)
			before := history(t, c, "t")
			if result == nil && len(before) != 2 {
				t.Fatalf("published, but the history is %q", before)
			}
			theirs := publish(t.Context(), c, "t", manifestOf(2, "theirs"))
			after := history(t, c, "t")
			if len(after) != 2 || !bytes.HasPrefix([]byte(strings.Join(after, "|")), []byte(strings.Join(before, "|"))) {
				t.Fatalf("history was %q, is %q", before, after)
			}
			if won := after[1] == "theirs"; won != (theirs == nil) {
				t.Errorf("version 2 is %q, and its second writer was told %v", after[1], theirs)
			}
			again := publish(t.Context(), c, "t", manifestOf(2, "ours"))
			if made := after[1] == "ours"; made != (again == nil) {
				t.Errorf("version 2 is %q, and its first writer is told %v", after[1], again)
			}
			if err := publish(t.Context(), c, "t", manifestOf(3, "next")); err != nil {
				t.Errorf("the next version: %v", err)
			}
		})
}

func TestEntryOfADeadWriterIsMade(t *testing.T) {
	inner := memstore.New()
	makeTable(t, open(t, inner), "t", true)
	dead := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
		return faultstore.Fault{Crash: call.Kind == faultstore.PutIfAbsent && strings.Contains(call.Key, "_versions/")}
	})
	if err := publish(t.Context(), open(t, dead), "t", manifestOf(2, "dead")); err == nil {
		t.Fatal("the writer lives")
	}
	c := open(t, inner)
	if err := publish(t.Context(), c, "t", manifestOf(2, "late")); code(err) != "ConcurrentModification" {
		t.Errorf("the version of a dead writer is made again: %v", err)
	}
	if got, want := fmt.Sprint(history(t, c, "t")), "[t first dead]"; got != want {
		t.Errorf("history is %s, want %s", got, want)
	}
}

func TestEntryGivesWayToADirectWriter(t *testing.T) {
	inner := memstore.New()
	c := open(t, inner)
	makeTable(t, c, "t", true)
	table, err := c.Table(t.Context(), []string{"t"})
	if err != nil {
		t.Fatal(err)
	}
	key := manifest.Key(table.Location.Prefix, 2, manifest.V2)
	slow := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
		if call.Key != key || call.Kind != faultstore.PutIfAbsent {
			return faultstore.Fault{}
		}
		_, err := inner.Put(t.Context(), key, []byte("direct"), objectstore.Condition{IfAbsent: true})
		return faultstore.Fault{Wait: func(context.Context) error { return err }}
	})
	if err := publish(t.Context(), open(t, slow), "t", manifestOf(2, "ours")); !errors.Is(err, objectstore.ErrPrecondition) {
		t.Errorf("got %v, want a lost race", err)
	}
	if err := publish(t.Context(), c, "t", manifestOf(3, "ours")); err != nil {
		t.Error(err)
	}
	if got, want := fmt.Sprint(history(t, c, "t")), "[t first direct ours]"; got != want {
		t.Errorf("history is %s, want %s", got, want)
	}
}

// afterLease opens a catalog when all leases have run out.
func afterLease(t *testing.T, store objectstore.Store) *Catalog {
	t.Helper()
	c := open(t, store)
	c.names.Now = func() time.Time { return time.Now().Add(naming.BatchLease + time.Second) }
	return c
}
