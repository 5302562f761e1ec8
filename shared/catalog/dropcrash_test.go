package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// Each change is cut short, or loses an answer, at each of its requests. Then the table is in one
// place, with its files, unless it was purged; a repetition leads to the end of the change.
func TestDropsAndRestorationsSurviveACrashAnywhere(t *testing.T) {
	ctx := t.Context()
	drop := func(t *testing.T, c *Catalog) {
		if _, err := c.DropTable(ctx, split("p/t")); err != nil {
			t.Fatal(err)
		}
	}
	for _, change := range []struct {
		name    string
		prepare func(t *testing.T, c *Catalog)
		do      func(c *Catalog) error
		again   []string // codes that a repetition may answer when the first try took place
		end     string   // where the table is afterwards
	}{
		{"drop", nil, func(c *Catalog) error { _, err := c.DropTable(ctx, split("p/t")); return err }, []string{"TableNotFound"}, "dropped"},
		{"undrop", drop, func(c *Catalog) error { _, err := c.Drops.UndropTable(ctx, split("p/t"), "", nil); return err }, []string{"TableNotFound", "TableAlreadyExists"}, "p/t"},
		{"undrop elsewhere", drop, func(c *Catalog) error { _, err := c.Drops.UndropTable(ctx, split("p/t"), "", split("q/u")); return err }, []string{"TableNotFound", "TableAlreadyExists"}, "q/u"},
		{"purge", drop, func(c *Catalog) error { _, err := c.Drops.Purge(ctx, split("p/t"), ""); return err }, []string{"TableNotFound"}, "gone"},
		{"drop of a namespace", nil, func(c *Catalog) error { _, err := c.Namespaces.Drop(ctx, split("p"), true); return err }, []string{"NamespaceNotFound"}, "dropped"},
		{"undrop of a namespace", func(t *testing.T, c *Catalog) {
			if _, err := c.Namespaces.Drop(ctx, split("p"), true); err != nil {
				t.Fatal(err)
			}
		}, func(c *Catalog) error { _, err := c.Drops.UndropNamespace(ctx, split("p"), "", split("r")); return err }, []string{"NamespaceNotFound"}, "r/t"},
	} {
		t.Run(change.name, func(t *testing.T) {
			for n := 1; ; n++ {
				var reached atomic.Bool
				for _, fault := range []faultstore.Fault{
					{Crash: true}, {Crash: true, Lost: true}, {Lost: true}, {Err: objectstore.ErrUnknownOutcome}, {Err: errors.New("busy")},
				} {
					what := fmt.Sprintf("request %d, %+v", n, fault)
					inner := memstore.New()
					c := keeping(t, inner, 0)
					mustCreate(t, c, "p", "q")
					at := mustData(t, c, "p/t").Location
					if change.prepare != nil {
						change.prepare(t, c)
					}
					faulty := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
						if call.N != n {
							return faultstore.Fault{}
						}
						reached.Store(true)
						return fault
					})
					first := change.do(keeping(t, faulty, 0))
					where := whereIs(t, keeping(t, inner, aged), at)
					if where == "gone" && change.end != "gone" || first == nil && where != change.end {
						t.Errorf("%s: the table is %s after %v", what, where, first)
					}
					second := change.do(keeping(t, inner, aged))
					if second != nil && !slices.Contains(change.again, code(second)) {
						t.Errorf("%s: first %v, then the table is %s, second %v", what, first, where, second)
					}
					if where := whereIs(t, keeping(t, inner, aged), at); where != change.end {
						t.Errorf("%s: the table is %s in the end, after %v and %v", what, where, first, second)
					}
					wantClean(t, what, inner)
				}
				if !reached.Load() {
					return
				}
			}
		})
	}
}

// whereIs returns the name that a table has, "dropped" if it can be restored, or "gone". It wants one
// of them, and the files of the table unless it is gone.
func whereIs(t *testing.T, c *Catalog, at objectstore.Location) string {
	t.Helper()
	var found []string
	ids, err := c.Lists.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if table, err := c.Table(t.Context(), id); err == nil && table.Location.URI == at.URI {
			found = append(found, strings.Join(id, "/"))
		}
	}
	dropped, _, err := c.Drops.List(t.Context(), nil, "", lists.NoLimit)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range dropped {
		if one.Location == at.URI {
			found = append(found, "dropped")
		}
	}
	switch {
	case len(found) == 0:
		return "gone"
	case len(found) > 1:
		t.Errorf("the table is in several places: %v", found)
	case !hasData(t, at):
		t.Errorf("the table is %s without its files", found[0])
	}
	return found[0]
}

// wantClean wants nothing to be left when everything is dropped and its time is over.
func wantClean(t *testing.T, what string, store objectstore.Store) {
	t.Helper()
	c := keeping(t, store, 2*aged)
	names, _, err := c.Lists.Names(t.Context(), lists.Namespaces, nil, "", lists.NoLimit)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if _, err := c.Namespaces.Drop(t.Context(), []string{name}, true); err != nil {
			t.Errorf("%s: drop of %s: %v", what, name, err)
		}
	}
	if _, err := keeping(t, store, 8*24*time.Hour).Sweeper.Sweep(t.Context(), objects.MinSweepAge); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	for object, err := range objectstore.Objects(t.Context(), store, objectstore.ListOptions{Limit: 100}) {
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(object.Key, "_places/") { // where a crash may leave notes
			t.Errorf("%s: %s is left over", what, object.Key)
		}
	}
}

// Of a purge, restorations and drops at the same time one wins, and what the others say is true.
func TestDropsLetOneOfPurgeAndRestorationWin(t *testing.T) {
	for round := range 50 {
		c := keeping(t, memstore.New(), 0)
		at := mustData(t, c, "t").Location
		if _, err := c.DropTable(t.Context(), split("t")); err != nil {
			t.Fatal(err)
		}
		var wins atomic.Int32
		var group sync.WaitGroup
		for _, do := range []func() error{
			func() error { _, err := c.Drops.Purge(t.Context(), split("t"), ""); return err },
			func() error { _, err := c.Drops.UndropTable(t.Context(), split("t"), "", split("u")); return err },
			func() error { _, err := c.Drops.UndropTable(t.Context(), split("t"), "", split("v")); return err },
		} {
			group.Go(func() {
				switch err := do(); code(err) {
				case "":
					wins.Add(1)
				case "TableNotFound", "ConcurrentModification":
				default:
					t.Error(err)
				}
			})
		}
		group.Wait()
		where := whereIs(t, c, at)
		if wins.Load() != 1 || where == "dropped" || (where == "gone") == hasData(t, at) {
			t.Fatalf("round %d: %d won, and the table is %s", round, wins.Load(), where)
		}
	}
}
