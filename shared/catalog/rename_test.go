package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/catalog/namespaces"
	"tiltyard/shared/catalog/naming"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// later is a catalog of a process that looks when all leases have run out.
func later(t *testing.T, store objectstore.Store) *Catalog {
	t.Helper()
	c := open(t, store)
	c.names.Now = func() time.Time { return time.Now().Add(naming.RenameLease + namespaces.DropLease) }
	return c
}

// locations returns where the tables of the given paths are, without those that are missing.
func locations(t *testing.T, c *Catalog, paths ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, p := range paths {
		table, err := c.Table(t.Context(), split(p))
		switch code(err) {
		case "":
			found[p] = table.Location.URI
		case "TableNotFound", "NamespaceNotFound":
		default:
			t.Fatalf("table %s: %v", p, err)
		}
	}
	return found
}

func TestRenameMovesTheNameOnly(t *testing.T) {
	ctx := t.Context()
	store := memstore.New()
	c := open(t, store)
	mustCreate(t, c, "p", "q")
	mustTable(t, c, "p/a", "q/taken")
	before := locations(t, c, "p/a")["p/a"]
	steps := []struct {
		what, from, to, want string
	}{
		{"a missing table", "p/x", "p/y", "TableNotFound"},
		{"a table of a missing namespace", "x/y", "p/y", "NamespaceNotFound"},
		{"to a missing namespace", "p/a", "x/y", "NamespaceNotFound"},
		{"to a taken name", "p/a", "q/taken", "TableAlreadyExists"},
		{"to its own name", "p/a", "p/a", "TableAlreadyExists"},
		{"in its namespace", "p/a", "p/b", ""},
		{"to another namespace", "p/b", "q/b", ""},
		{"to the root", "q/b", "c", ""},
		{"under its first name", "c", "p/a", ""},
	}
	for _, s := range steps {
		_, err := c.RenameTable(ctx, split(s.from), split(s.to))
		wantCode(t, "rename "+s.what, err, s.want)
	}
	if _, err := c.RenameTable(ctx, split("p/a"), nil); code(err) != "InvalidInput" {
		t.Errorf("rename to the root namespace: %v", err)
	}
	want := map[string]string{"p/a": before}
	if diff := cmp.Diff(want, locations(t, c, "p/a", "p/b", "q/b", "c")); diff != "" {
		t.Errorf("tables afterwards (-want +got):\n%s", diff)
	}
	records, err := store.List(ctx, objectstore.ListOptions{})
	if err != nil || len(records.Objects) != 4 {
		t.Errorf("records afterwards: %v, %v; want those of two namespaces and two tables", records.Objects, err)
	}
}

// A rename is cut short, or its answers are lost, at each of its requests. Then exactly one
// name stands for the table, all readers and lists agree on it, the next rename settles the
// rest, and both namespaces can be dropped.
func TestRenameSurvivesACrashAnywhere(t *testing.T) {
	from, to := []string{"p", "old"}, []string{"q", "new"}
	for n := 1; ; n++ {
		var reached atomic.Bool
		for _, fault := range []faultstore.Fault{
			{Crash: true}, {Crash: true, Lost: true}, {Lost: true}, {Err: objectstore.ErrUnknownOutcome}, {Err: errors.New("busy")},
		} {
			what := fmt.Sprintf("request %d, %+v", n, fault)
			inner := memstore.New()
			c := open(t, inner)
			mustCreate(t, c, "p", "q")
			mustTable(t, c, "p/old")
			want := locations(t, c, "p/old")["p/old"]
			faulty := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
				if call.N != n {
					return faultstore.Fault{}
				}
				reached.Store(true)
				return fault
			})
			_, first := open(t, faulty).RenameTable(t.Context(), from, to)

			shown := listed(t, open(t, inner))
			found := locations(t, open(t, inner), "p/old", "q/new")
			if len(found) != 1 || found["p/old"]+found["q/new"] != want {
				t.Fatalf("%s: tables are %v after %v", what, found, first)
			}
			if _, moved := found["q/new"]; !moved && first == nil || moved && code(first) != "" && code(first) != "Internal" && code(first) != "ServiceUnavailable" {
				t.Errorf("%s: answered %v, tables are %v", what, first, found)
			}
			if !cmp.Equal(shown, sortedKeys(found)) {
				t.Errorf("%s: listed are %v, tables are %v", what, shown, found)
			}
			if found := locations(t, later(t, inner), "p/old", "q/new"); len(found) != 1 {
				t.Errorf("%s: tables are %v when the lease has run out", what, found)
			}
			_, second := later(t, inner).RenameTable(t.Context(), from, to)
			if moved := found["q/new"] != ""; second != nil != moved || moved && code(second) != "TableNotFound" {
				t.Errorf("%s: first %v, then tables are %v, second %v", what, first, found, second)
			}
			if found := locations(t, later(t, inner), "p/old", "q/new"); !cmp.Equal(found, map[string]string{"q/new": want}) {
				t.Errorf("%s: tables are %v after the second rename", what, found)
			}
			dropAll(t, what, inner, "p", "q")
		}
		if !reached.Load() {
			return
		}
	}
}

// Records that no rename of ours has left are an error, and nothing worse.
func TestDamagedRecordsAreNoTables(t *testing.T) {
	for _, record := range []string{
		`{"id":["t"],"uid":"u","arriving":{"uid":"x"}} `, `{"id":["t"],"uid":"u","moved":{}}  `,
		`{"id":["t"],"uid":"u","arriving":{"uid":"x"},"renamed_from":["t"]} `, `{"id":["t"],"uid":"u","moved":{"to":["t"],"uid":"u"}} `,
		`{"id":["t"],"uid":"u","moved":{"to":["t"],"uid":"u"},"arriving":{"uid":"u"},"renamed_from":["t"]} `,
	} {
		store := memstore.New()
		if _, err := store.Put(t.Context(), keys.Table([]string{"t"}), []byte(record), objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
		c := open(t, store)
		if names, _, err := c.Lists.Names(t.Context(), lists.Tables, nil, "", lists.NoLimit); err == nil && len(names) > 0 && len(record)%2 != 0 {
			t.Errorf("%s is listed", record)
		}
		if table, err := c.Table(t.Context(), []string{"t"}); err == nil {
			t.Errorf("%s is the table %+v", record, table)
		}
	}
}

// dropAll drops the namespaces, with all that they hold, and wants nothing to be left.
func dropAll(t *testing.T, what string, store objectstore.Store, namespaces ...string) {
	t.Helper()
	for _, name := range namespaces {
		if _, err := later(t, store).Namespaces.Drop(t.Context(), []string{name}, true); err != nil {
			t.Errorf("%s: drop of %s: %v", what, name, err)
		}
	}
	left, err := store.List(t.Context(), objectstore.ListOptions{})
	if err != nil || len(left.Objects) != 0 {
		t.Errorf("%s: left over are %v, %v", what, left.Objects, err)
	}
}

// listed returns what the lists of p and q show, and wants the list of all tables to agree.
func listed(t *testing.T, c *Catalog) []string {
	t.Helper()
	var got []string
	for _, ns := range []string{"p", "q"} {
		names, _, err := c.Lists.Names(t.Context(), lists.Tables, []string{ns}, "", lists.NoLimit)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			got = append(got, ns+"/"+name)
		}
	}
	ids, err := c.Lists.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, id := range ids {
		all = append(all, id[0]+"/"+id[1])
	}
	slices.Sort(all)
	if !cmp.Equal(got, all) {
		t.Errorf("the namespaces list %v, all tables are %v", got, all)
	}
	return got
}

func sortedKeys(m map[string]string) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Each of the other operations is the first to find the records of a rename that died.
func TestLeftoversOfARenameAreSettledByWhoeverMeetsThem(t *testing.T) {
	ctx := t.Context()
	create := func(path string) func(*Catalog) error {
		return func(c *Catalog) error {
			_, err := c.CreateTable(ctx, split(path), c.Places.New(split(path)), 0, nil)
			return err
		}
	}
	drop := func(path string) func(*Catalog) error {
		return func(c *Catalog) error { _, err := c.DropTable(ctx, split(path)); return err }
	}
	dropNamespace := func(name string) func(*Catalog) error {
		return func(c *Catalog) error { _, err := c.Namespaces.Drop(ctx, []string{name}, false); return err }
	}
	rename := func(from, to string) func(*Catalog) error {
		return func(c *Catalog) error { _, err := c.RenameTable(ctx, split(from), split(to)); return err }
	}
	cases := []struct {
		what            string
		do              func(*Catalog) error
		arriving, moved string // what it answers when the renamer died before, after the commit
	}{
		{"create of the old name", create("p/old"), "TableAlreadyExists", ""},
		{"create of the new name", create("q/new"), "", "TableAlreadyExists"},
		{"drop of the old name", drop("p/old"), "", "TableNotFound"},
		{"drop of the new name", drop("q/new"), "TableNotFound", ""},
		{"drop of the old namespace", dropNamespace("p"), "NamespaceNotEmpty", ""},
		{"drop of the new namespace", dropNamespace("q"), "", "NamespaceNotEmpty"},
		{"rename of the old name", rename("p/old", "p/other"), "", "TableNotFound"},
		{"rename of the new name", rename("q/new", "q/other"), "TableNotFound", ""},
		{"rename of another to the old name", rename("p/second", "p/old"), "TableAlreadyExists", ""},
		{"rename of another to the new name", rename("p/second", "q/new"), "", "TableAlreadyExists"},
	}
	for _, tc := range cases {
		for _, committed := range []bool{false, true} {
			inner := memstore.New()
			mustCreate(t, open(t, inner), "p", "q")
			mustTable(t, open(t, inner), "p/old")
			puts := 0
			dying := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
				if call.Kind == faultstore.PutIfMatch {
					puts++
				}
				return faultstore.Fault{Crash: puts == 1 && !committed || puts == 2}
			})
			if _, err := open(t, dying).RenameTable(ctx, split("p/old"), split("q/new")); !committed && err == nil {
				t.Fatal("the dying process says that it has renamed the table")
			}
			want := tc.arriving
			if committed {
				want = tc.moved
			}
			if tc.what != "drop of the old namespace" {
				mustTable(t, later(t, inner), "p/second")
			}
			wantCode(t, fmt.Sprintf("%s, committed %v", tc.what, committed), tc.do(later(t, inner)), want)
		}
	}
}

func TestNameThatATableIsOnItsWayToIsNotFree(t *testing.T) {
	ctx := t.Context()
	inner := memstore.New()
	c := open(t, inner)
	mustTable(t, c, "old")
	dying := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
		return faultstore.Fault{Crash: call.Kind == faultstore.PutIfMatch}
	})
	if _, err := open(t, dying).RenameTable(ctx, split("old"), split("new")); !errors.Is(err, faultstore.ErrCrashed) {
		t.Fatalf("rename by a dying process: %v", err)
	}
	_, err := c.CreateTable(ctx, split("new"), c.Places.New(split("new")), 0, nil)
	wantCode(t, "create", err, "ConcurrentModification")
	_, err = c.Table(ctx, split("new"))
	wantCode(t, "describe", err, "TableNotFound")
	_, err = c.RegisterTable(ctx, split("new"), Registration{Location: c.Places.New(split("new")), Replace: true})
	wantCode(t, "replacing create", err, "ConcurrentModification")
}

// A renamer that was only slow reaches its commit after other processes have undone its rename. It
// renames the table nonetheless, or not at all.
func TestSlowRenamerLosesNothing(t *testing.T) {
	ctx := t.Context()
	inner := memstore.New()
	mustTable(t, open(t, inner), "old")
	want := locations(t, open(t, inner), "old")["old"]
	interfered := false
	slow := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
		if call.Kind != faultstore.PutIfMatch || interfered {
			return faultstore.Fault{}
		}
		interfered = true
		return faultstore.Fault{Wait: func(context.Context) error {
			mustTable(t, later(t, inner), "new") // takes the name while the renamer sleeps
			return nil
		}}
	})
	_, err := open(t, slow).RenameTable(ctx, split("old"), split("new"))
	wantCode(t, "rename to a name that was taken meanwhile", err, "TableAlreadyExists")
	if got := locations(t, open(t, inner), "old", "new"); got["old"] != want || got["new"] == want || len(got) != 2 {
		t.Errorf("tables are %v; want the renamed one under its old name, and another", got)
	}
}

func TestCachedTableFollowsARename(t *testing.T) {
	ctx := t.Context()
	store := memstore.New()
	c, elsewhere := open(t, store), open(t, store)
	mustTable(t, c, "old")
	where := func(name string) (string, error) {
		found, err := c.Lookup(ctx, split(name))
		if err != nil {
			return "", err
		}
		return found.Table.Location.URI, found.Confirm()
	}
	before, err := where("old")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := elsewhere.RenameTable(ctx, split("old"), split("new")); err != nil {
		t.Fatal(err)
	}
	if got, err := where("new"); err != nil || got != before {
		t.Errorf("read of the new name = %s, %v; want %s", got, err, before)
	}
	_, err = where("old")
	wantCode(t, "read of the old name", err, "TableNotFound")
}

// Many processes rename, drop and create the same few names. Afterwards no two names stand for the
// same data, and only dropped tables are gone.
func TestRenamesRaceWithEverything(t *testing.T) {
	names := []string{"p/a", "p/b", "q/a", "q/b"}
	for round := range 60 {
		store := memstore.New()
		mustCreate(t, open(t, store), "p", "q")
		var made, dropped sync.Map // by location
		var group sync.WaitGroup
		for worker := range 6 {
			group.Go(func() {
				c := open(t, store)
				for step := range 8 {
					id := split(names[(worker+step*3+round)%len(names)])
					switch (worker + step + round) % 4 {
					case 0:
						location := c.Places.New(id)
						if _, err := c.CreateTable(t.Context(), id, location, 0, nil); err == nil {
							made.Store(location.URI, true)
						} else if code(err) != "TableAlreadyExists" && code(err) != "ConcurrentModification" {
							t.Error(err)
						}
					case 1:
						if gone, err := c.DropTable(t.Context(), id); err == nil {
							if _, twice := dropped.LoadOrStore(gone.Location.URI, true); twice {
								t.Errorf("%s was dropped twice", gone.Location.URI)
							}
						} else if code(err) != "TableNotFound" && code(err) != "ConcurrentModification" {
							t.Error(err)
						}
					default:
						to := split(names[(worker*5+step+1)%len(names)])
						_, err := c.RenameTable(t.Context(), id, to)
						if !slices.Contains([]string{"", "TableNotFound", "TableAlreadyExists", "ConcurrentModification"}, code(err)) {
							t.Error(err)
						}
					}
				}
			})
		}
		group.Wait()
		found := locations(t, later(t, store), names...)
		here := map[string]bool{}
		for _, location := range found {
			here[location] = true
		}
		want := map[string]bool{}
		made.Range(func(location, _ any) bool {
			if _, gone := dropped.Load(location); !gone {
				want[location.(string)] = true
			}
			return true
		})
		if len(here) != len(found) || !cmp.Equal(here, want) {
			t.Fatalf("round %d: tables are %v, want those at %v", round, found, want)
		}
		if got := listed(t, later(t, store)); !cmp.Equal(got, sortedKeys(found)) {
			t.Fatalf("round %d: listed are %v, tables are %v", round, got, found)
		}
		dropAll(t, fmt.Sprintf("round %d", round), store, "p", "q")
	}
}

// A list shows a table exactly once, even if it is renamed while the list is made.
func TestListShowsARenamedTableOnce(t *testing.T) {
	ctx := t.Context()
	inner := memstore.New()
	mustCreate(t, open(t, inner), "p", "q")
	mustTable(t, open(t, inner), "p/a")
	done := make(chan struct{})
	go func() {
		defer close(done)
		c := open(t, inner)
		for range 300 {
			for _, step := range [][2]string{{"p/a", "p/b"}, {"p/b", "p/a"}} {
				if _, err := c.RenameTable(ctx, split(step[0]), split(step[1])); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	for c := open(t, inner); ; {
		names, _, err := c.Lists.Names(ctx, lists.Tables, []string{"p"}, "", lists.NoLimit)
		if err != nil || len(names) != 1 {
			t.Errorf("listed are %v, %v; want one name", names, err)
		}
		select {
		case <-done:
			return
		default:
		}
	}
}
