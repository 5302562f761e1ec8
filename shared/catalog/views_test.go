package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/catalog/dependents"
	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/catalog/views"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

func createView(ctx context.Context, c *Catalog, kind stored.ViewKind, name, source string) error {
	v := views.NewView{Kind: kind, Source: split(source), Digest: "d"}
	if kind == stored.Materialized {
		v.Location = c.Places.New(split(name))
	}
	_, err := c.Views.Create(ctx, split(name), v)
	return err
}

func mustView(t *testing.T, c *Catalog, kind stored.ViewKind, name, source string) {
	t.Helper()
	if err := createView(t.Context(), c, kind, name, source); err != nil {
		t.Fatal(err)
	}
}

// listedOf returns the names of the views in the record of a table.
func listedOf(t *testing.T, c *Catalog, name string) []string {
	t.Helper()
	record, _, err := c.names.Table(t.Context(), split(name))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range record.Dependents {
		names = append(names, strings.Join(d.ID, "/"))
	}
	return names
}

func TestViewsAreListedByKind(t *testing.T) {
	store := memstore.New()
	c := open(t, store)
	mustTable(t, c, "a", "b", "m")
	mustView(t, c, stored.Materialized, "c", "a")
	mustView(t, c, stored.Plain, "d", "a")
	mustView(t, c, stored.Plain, "l", "c")
	mustView(t, c, stored.Materialized, "n", "c")
	if got, want := listedOf(t, c, "a"), []string{"c", "d"}; !cmp.Equal(got, want) {
		t.Errorf("dependents of a: %q, want %q", got, want)
	}
	for limit := 1; limit < 6; limit++ {
		for _, test := range []struct {
			what string
			list func(after string) ([]string, string, error)
			want []string
		}{
			{"tables", func(after string) ([]string, string, error) {
				return c.Lists.Names(t.Context(), lists.Tables, nil, after, limit)
			}, []string{"a", "b", "c", "m", "n"}},
			{"materialized views", func(after string) ([]string, string, error) {
				return c.Lists.Names(t.Context(), lists.Views, nil, after, limit)
			}, []string{"c", "n"}},
			{"views", func(after string) ([]string, string, error) {
				return c.Lists.Names(t.Context(), lists.Plain, nil, after, limit)
			}, []string{"d", "l"}},
		} {
			var all []string
			for after, more := "", true; more; more = after != "" {
				names, next, err := test.list(after)
				if err != nil || len(names) > limit {
					t.Fatal(names, err)
				}
				all, after = append(all, names...), next
			}
			if !cmp.Equal(all, test.want) {
				t.Errorf("%s by %d: %q, want %q", test.what, limit, all, test.want)
			}
		}
	}
	all, err := c.Lists.All(t.Context())
	if err != nil || len(all) != 5 {
		t.Errorf("all tables: %v, %v", all, err)
	}
}

func TestPlainViewsAreNoTables(t *testing.T) {
	c := open(t, memstore.New())
	mustCreate(t, c, "p")
	mustTable(t, c, "a")
	mustView(t, c, stored.Plain, "p/v", "a")
	id := split("p/v")
	_, described := c.Table(t.Context(), id)
	_, looked := c.Lookup(t.Context(), id)
	_, dropped := c.DropTable(t.Context(), id)
	_, forgotten := c.DeregisterTable(t.Context(), id)
	_, renamed := c.RenameTable(t.Context(), id, split("p/w"))
	for what, err := range map[string]error{"describe": described, "lookup": looked, "drop": dropped, "deregister": forgotten, "rename": renamed} {
		wantCode(t, what, err, "InvalidInput")
	}
	wantCode(t, "drop as another kind", dropView(c, t, id), "InvalidInput")
	_, restricted := c.Namespaces.Drop(t.Context(), split("p"), false)
	wantCode(t, "drop the namespace", restricted, "NamespaceNotEmpty")
	if _, err := c.Namespaces.Drop(t.Context(), split("p"), true); err != nil {
		t.Error(err)
	}
	if left := listedOf(t, c, "a"); left != nil {
		t.Errorf("dependents %q are left", left)
	}
}

func TestViewsThatReadThemselvesAreRefused(t *testing.T) {
	c := open(t, memstore.New())
	mustTable(t, c, "t")
	mustView(t, c, stored.Materialized, "a", "t")
	mustView(t, c, stored.Materialized, "b", "a")
	if _, err := c.DropTable(t.Context(), split("t")); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "t upon b", createView(t.Context(), c, stored.Materialized, "t", "b"), "InvalidInput")
	wantCode(t, "t upon t", createView(t.Context(), c, stored.Materialized, "t", "t"), "InvalidInput")
	wantCode(t, "no source", createView(t.Context(), c, stored.Materialized, "c", "none"), "TableNotFound")

	mustTable(t, c, "v0")
	for n := range dependents.MaxDepth - 1 {
		mustView(t, c, stored.Plain, fmt.Sprint("v", n+1), fmt.Sprint("v", n))
	}
	top := fmt.Sprint("v", dependents.MaxDepth-1)
	mustView(t, c, stored.Plain, "last", top)
	wantCode(t, "too deep", createView(t.Context(), c, stored.Plain, "beyond", "last"), "InvalidInput")
}

func TestViewMayHaveAnUnknownSource(t *testing.T) {
	c := open(t, memstore.New())
	id := split("v")
	if _, err := c.Views.Create(t.Context(), id, views.NewView{Kind: stored.Materialized, Location: c.Places.New(id)}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Views.Drop(t.Context(), id, stored.Materialized); err != nil {
		t.Error(err)
	}
}

func TestViewsOfASourceAreBounded(t *testing.T) {
	c := open(t, memstore.New())
	mustTable(t, c, "t")
	for n := range stored.MaxDependents {
		mustView(t, c, stored.Plain, fmt.Sprint("v", n), "t")
	}
	wantCode(t, "one more", createView(t.Context(), c, stored.Plain, "w", "t"), "InvalidInput")
	// One whose view is gone makes room.
	record, etag, err := c.names.Table(t.Context(), split("v7"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.store.Remove(t.Context(), "_catalog/$/t/v7", record.UID, etag); err != nil {
		t.Fatal(err)
	}
	mustView(t, c, stored.Plain, "w", "t")
	if left := listedOf(t, c, "t"); len(left) != stored.MaxDependents || slices.Contains(left, "v7") || !slices.Contains(left, "w") {
		t.Errorf("dependents are %q", left)
	}
}

func TestViewStaysADependentWhenRenamed(t *testing.T) {
	c := open(t, memstore.New())
	mustTable(t, c, "t")
	mustView(t, c, stored.Materialized, "v", "t")
	if _, err := c.RenameTable(t.Context(), split("v"), split("w")); err != nil {
		t.Fatal(err)
	}
	if got := listedOf(t, c, "t"); !cmp.Equal(got, []string{"w"}) {
		t.Errorf("dependents are %q", got)
	}
	if _, err := c.Views.Get(t.Context(), split("w"), stored.Materialized); err != nil {
		t.Error(err)
	}
	if _, err := c.Views.Drop(t.Context(), split("w"), stored.Materialized); err != nil {
		t.Error(err)
	}
	if left := listedOf(t, c, "t"); left != nil {
		t.Errorf("dependents %q are left", left)
	}
}

// A source knows all its views, whatever becomes of the request that makes one.
func TestCreateAndDropOfViewsSurviveACrashAnywhere(t *testing.T) {
	prepare := func(c *Catalog) {
		mustTable(t, c, "t")
		mustView(t, c, stored.Materialized, "old", "t")
	}
	check := func(t *testing.T, inner objectstore.Store, _ error) {
		c := open(t, inner)
		views, _, err := c.Lists.Names(t.Context(), lists.Views, nil, "", lists.NoLimit)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range views {
			if !slices.Contains(listedOf(t, c, "t"), v) {
				t.Errorf("view %s is no dependent", v)
			}
		}
		for _, v := range []string{"old", "new"} { // all can be done again
			if !slices.Contains(views, v) {
				mustView(t, c, stored.Materialized, v, "t")
			}
			if _, err := c.Views.Drop(t.Context(), split(v), stored.Materialized); err != nil {
				t.Error(err)
			}
		}
	}
	eachFault(t, prepare, func(c *Catalog) error { return createView(t.Context(), c, stored.Materialized, "new", "t") }, check)
	eachFault(t, prepare, func(c *Catalog) error { return dropView(c, t, split("old")) }, check)
}

func dropView(c *Catalog, t *testing.T, id []string) error {
	t.Helper()
	_, err := c.Views.Drop(t.Context(), id, stored.Materialized)
	return err
}
