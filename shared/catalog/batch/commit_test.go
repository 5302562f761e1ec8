package batch_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
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

var start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// A world is the names in a store, and what commits batches of their tables.
type world struct {
	*batch.Committer
	names *naming.Registry
	roots *objectstore.Roots
}

func open(t *testing.T, store objectstore.Store, now time.Time) world {
	t.Helper()
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://home", Store: store})
	if err != nil {
		t.Fatal(err)
	}
	names := naming.New(roots, func() time.Time { return now }, func([]string) {})
	w := world{batch.New(names), names, roots}
	w.FirstPause = 0
	return w
}

// managed makes a table with a ledger at a name.
func (w world) managed(t *testing.T, name string) {
	t.Helper()
	record := w.names.NewTable([]string{name}, w.roots.Join(name+"-0123456789abcdef01234567.lance"), 0, map[string]string{ledger.ManagedProperty: "true"})
	if _, err := w.names.CreateChild(t.Context(), record.ID, keys.Table(record.ID), record); err != nil {
		t.Fatal(err)
	}
}

func create(name string, version uint64) batch.Operation {
	source := fmt.Sprintf("version %d of %s", version, name)
	return batch.Operation{ID: []string{name}, Create: &ledger.Manifest{Version: version, Data: []byte(source), Source: source}}
}

func (w world) declare(name, folder string) batch.Operation {
	return batch.Operation{ID: []string{name}, Declare: &batch.Declaration{Location: w.roots.Join(folder), Named: true}}
}

func deregister(name string) batch.Operation {
	return batch.Operation{ID: []string{name}, Deregister: true}
}

// state describes the tables: the names that stand for one, each with its number of versions.
func (w world) state(t *testing.T, names ...string) string {
	t.Helper()
	var all []string
	for _, name := range names {
		record, _, err := w.names.Table(t.Context(), []string{name})
		if protocol.HasCode(err, protocol.TableNotFound) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if record.Pending != nil {
			name += " in a batch"
		}
		at, err := w.names.Locate(record)
		if err != nil {
			t.Fatal(err)
		}
		n := uint64(0)
		for {
			_, _, err := at.Store.Get(t.Context(), manifest.Key(at.Prefix, n+1, manifest.V2))
			if errors.Is(err, objectstore.ErrNotExist) {
				break
			}
			if n++; err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, fmt.Sprint(name, ":", n))
	}
	return strings.Join(all, " ")
}

func request(text string, operations ...batch.Operation) *batch.Batch {
	return &batch.Batch{Request: []byte(text), Operations: operations}
}

func TestCommitDoesAllOperations(t *testing.T) {
	w := open(t, memstore.New(), start)
	w.managed(t, "a")
	w.managed(t, "gone")
	all := request("all", create("a", 2), create("a", 1), w.declare("new", "land/new"), create("new", 1), deregister("gone"))
	for try := range 2 { // the second time, the answer to the first was lost
		results, err := w.Commit(t.Context(), all)
		if err != nil {
			t.Fatalf("try %d: %v", try, err)
		}
		for i, op := range all.Operations {
			switch r := results[i]; {
			case op.Create != nil && path(r.Version.Key) != op.Create.Name():
				t.Errorf("try %d: operation %d made %q, want %s", try, i, r.Version.Key, op.Create.Name())
			case op.Create == nil && (r.Record == nil || !slices.Equal(r.Record.ID, op.ID)):
				t.Errorf("try %d: operation %d has record %+v", try, i, r.Record)
			}
		}
		if got, want := w.state(t, "a", "new", "gone"), "a:2 new:1"; got != want {
			t.Errorf("try %d: got tables %s, want %s", try, got, want)
		}
	}
}

func path(key string) string { return key[strings.LastIndexByte(key, '/')+1:] }

// A batch with one operation that is not possible does none. The error names the operation.
func TestCommitDoesAllOrNothing(t *testing.T) {
	prepare := func(t *testing.T) world {
		w := open(t, memstore.New(), start)
		w.managed(t, "a")
		w.managed(t, "b")
		if _, err := w.Commit(t.Context(), request("first", create("a", 1), create("b", 1))); err != nil {
			t.Fatal(err)
		}
		return w
	}
	cases := []struct {
		name  string
		batch []batch.Operation
		entry int
		code  protocol.Code
	}{
		{"a version that is there", []batch.Operation{create("a", 2), create("b", 1)}, 1, protocol.ConcurrentModification},
		{"a gap", []batch.Operation{create("a", 2), create("b", 3)}, 1, protocol.ConcurrentModification},
		{"no table", []batch.Operation{create("a", 2), create("c", 1)}, 1, protocol.TableNotFound},
		{"another table by then", []batch.Operation{create("a", 2), {ID: []string{"b"}, UID: "earlier", Create: create("b", 2).Create}}, 1, protocol.ConcurrentModification},
		{"no manifest", []batch.Operation{{ID: []string{"a"}, Create: &ledger.Manifest{Version: 2, Source: "s"}}, create("b", 2)}, 0, protocol.InvalidInput},
		{"a declared table that is there", []batch.Operation{create("a", 2), {ID: []string{"b"}, Declare: &batch.Declaration{}}}, 1, protocol.TableAlreadyExists},
		{"a removed table that is not there", []batch.Operation{create("a", 2), deregister("c")}, 1, protocol.TableNotFound},
		{"a change and then a removal", []batch.Operation{create("a", 2), create("b", 2), deregister("b")}, 2, protocol.InvalidInput},
		{"a removal and then a change", []batch.Operation{create("a", 2), deregister("b"), create("b", 2)}, 2, protocol.TableNotFound},
		{"a table removed twice", []batch.Operation{create("a", 2), deregister("b"), deregister("b")}, 2, protocol.TableNotFound},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := prepare(t)
			_, err := w.Commit(t.Context(), request(c.name, c.batch...))
			if !protocol.HasCode(err, c.code) || !strings.Contains(fmt.Sprint(err), fmt.Sprintf("entry %d of the batch", c.entry)) {
				t.Errorf("got %v, want code %d for entry %d", err, c.code, c.entry)
			}
			if got, want := w.state(t, "a", "b", "c"), "a:1 b:1"; got != want {
				t.Errorf("got tables %s, want %s", got, want)
			}
			if _, err := w.Commit(t.Context(), request("next", create("a", 2), create("b", 2))); err != nil {
				t.Errorf("the next batch: %v", err)
			}
		})
	}
}

func TestCommitDeclaresANameThatItRemoves(t *testing.T) {
	w := open(t, memstore.New(), start)
	w.managed(t, "a")
	if _, err := w.Commit(t.Context(), request("first", create("a", 1))); err != nil {
		t.Fatal(err)
	}
	results, err := w.Commit(t.Context(), request("replace", deregister("a"), w.declare("a", "land/a"), create("a", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if before, after := results[0].Record, results[1].Record; before.Location == after.Location || after.Location != "land/a" {
		t.Errorf("the table at %s became one at %s", before.Location, after.Location)
	}
	if got, want := w.state(t, "a"), "a:1"; got != want {
		t.Errorf("got tables %s, want %s", got, want)
	}
}

func TestCommitDeletesTheChosenVersions(t *testing.T) {
	w := open(t, memstore.New(), start)
	w.managed(t, "a")
	made, err := w.Commit(t.Context(), request("first", create("a", 1), create("a", 2), create("a", 3)))
	if err != nil {
		t.Fatal(err)
	}
	changed := made[1].Version
	changed.ETag = "of another object"
	if _, err := w.Commit(t.Context(), request("delete", batch.Operation{ID: []string{"a"}, Delete: []objectstore.Info{changed, made[2].Version}})); err != nil {
		t.Fatal(err)
	}
	if got, want := w.state(t, "a"), "a:2"; got != want {
		t.Errorf("got tables %s, want %s: a version that is another object by then stays", got, want)
	}
}

// When the deletion of recent versions breaks off, the oldest are gone.
func TestCommitDeletesRecentVersionsFromTheOldestOn(t *testing.T) {
	const versions = 6
	for nth := 1; nth < versions; nth++ {
		inner := memstore.New()
		w := open(t, inner, time.Now())
		w.managed(t, "a")
		var chosen []objectstore.Info
		for version := uint64(1); version <= versions; version++ {
			made, err := w.Commit(t.Context(), request("make", create("a", version)))
			if err != nil {
				t.Fatal(err)
			}
			chosen = append(chosen, made[0].Version)
		}
		slices.Reverse(chosen)
		deletes := new(atomic.Int64)
		faulty := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
			if call.Kind == faultstore.Delete && strings.Contains(call.Key, "/_versions/") && deletes.Add(1) >= int64(nth) {
				return faultstore.Fault{Err: errors.New("refused")}
			}
			return faultstore.Fault{}
		})
		_, _ = open(t, faulty, time.Now()).Commit(t.Context(), request("delete", batch.Operation{ID: []string{"a"}, Delete: chosen[1:]}))
		var left []uint64
		for info, err := range objectstore.Objects(t.Context(), inner, objectstore.ListOptions{Prefix: "a-0123456789abcdef01234567.lance/_versions/"}) {
			if err != nil {
				t.Fatal(err)
			}
			version, _, _ := manifest.ParseName(info.Key[strings.LastIndexByte(info.Key, '/')+1:])
			left = append(left, version)
		}
		slices.Sort(left)
		if len(left) != versions-nth+1 || left[0] != uint64(nth) {
			t.Errorf("after %d deletions the versions %v are left, want those from %d on", nth-1, left, nth)
		}
	}
}

// A process may die at each request of a batch. Once the lease has run out, the tables have all of
// the batch or nothing, and the same request can be made again.
func TestCommitSurvivesACrashAnywhere(t *testing.T) {
	for n := 1; ; n++ {
		inner := memstore.New()
		w := open(t, inner, start)
		w.managed(t, "a")
		w.managed(t, "gone")
		all := request("all", create("a", 1), w.declare("new", "land/new"), create("new", 1), deregister("gone"))
		faulty := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
			return faultstore.Fault{Crash: call.N >= n, Lost: call.N == n}
		})
		_, err := open(t, faulty, start).Commit(t.Context(), all)
		if faulty.Snapshot().Requests < n {
			if err != nil {
				t.Fatalf("without a crash: %v", err)
			}
			if n < 10 {
				t.Fatalf("a batch of %d requests", n-1)
			}
			return
		}
		later := open(t, inner, start.Add(time.Hour))
		before, after := "a:0 gone:0", "a:1 new:1"
		got := later.state(t, "a", "new", "gone")
		if got != before && got != after || err == nil && got != after {
			t.Errorf("crash at request %d: got tables %s, want %s or %s", n, got, before, after)
		}
		if _, err := later.Commit(t.Context(), all); err != nil {
			t.Errorf("crash at request %d: the repeated request: %v", n, err)
		}
		if got := later.state(t, "a", "new", "gone"); got != after {
			t.Errorf("crash at request %d: after the repeated request got tables %s, want %s", n, got, after)
		}
	}
}

// A manifest that another writer puts without the catalog stays, and the batch that lost says so.
func TestCommitKeepsAVersionOfAnotherWriter(t *testing.T) {
	inner := memstore.New()
	w := open(t, inner, start)
	w.managed(t, "a")
	w.managed(t, "b")
	record, _, err := w.names.Table(t.Context(), []string{"b"})
	if err != nil {
		t.Fatal(err)
	}
	key := manifest.Key(record.Location, 1, manifest.V2)
	faulty := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
		if call.Kind == faultstore.PutIfAbsent && strings.HasPrefix(call.Key, stored.BatchesPrefix) {
			if _, err := inner.Put(t.Context(), key, []byte("of another writer"), objectstore.Condition{}); err != nil {
				t.Error(err)
			}
		}
		return faultstore.Fault{}
	})
	_, err = open(t, faulty, start).Commit(t.Context(), request("all", create("a", 1), create("b", 1)))
	if !protocol.HasCode(err, protocol.ConcurrentModification) {
		t.Errorf("got %v, want ConcurrentModification", err)
	}
	if data, _, err := inner.Get(t.Context(), key); err != nil || string(data) != "of another writer" {
		t.Errorf("the version holds %q, %v", data, err)
	}
	if got, want := w.state(t, "a", "b"), "a:1 b:1"; got != want {
		t.Errorf("got tables %s, want %s", got, want)
	}
}
