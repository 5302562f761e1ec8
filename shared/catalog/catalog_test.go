package catalog

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/catalog/namespaces"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

func open(t *testing.T, store objectstore.Store) *Catalog {
	t.Helper()
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: store})
	if err != nil {
		t.Fatal(err)
	}
	c := Open(roots, time.Now)
	c.batches.FirstPause = 0
	return c
}

// code returns the code of an error, "" for none.
func code(err error) string {
	if err == nil {
		return ""
	}
	return protocol.CodeOf(err).String()
}

func wantCode(t *testing.T, what string, err error, want string) {
	t.Helper()
	if got := code(err); got != want {
		t.Errorf("%s: got %q (%v), want %q", what, got, err, want)
	}
}

func TestNamespacesAreCreatedByMode(t *testing.T) {
	ctx := t.Context()
	c := open(t, memstore.New())
	steps := []struct {
		what  string
		id    []string
		props map[string]string
		mode  namespaces.ExistsMode
		want  string
	}{
		{"a new one", []string{"a"}, map[string]string{"k": "1"}, namespaces.FailIfExists, ""},
		{"one that exists", []string{"a"}, nil, namespaces.FailIfExists, "NamespaceAlreadyExists"},
		{"one that exists, kept", []string{"a"}, map[string]string{"k": "2"}, namespaces.KeepIfExists, ""},
		{"a nested one", []string{"a", "b"}, nil, namespaces.FailIfExists, ""},
		{"one without a parent", []string{"x", "b"}, nil, namespaces.FailIfExists, "NamespaceNotFound"},
		{"the root", nil, nil, namespaces.FailIfExists, "NamespaceAlreadyExists"},
		{"the root, kept", nil, nil, namespaces.KeepIfExists, ""},
	}
	for _, s := range steps {
		_, err := c.Namespaces.Create(ctx, s.id, s.props, s.mode)
		wantCode(t, s.what, err, s.want)
	}
	kept, err := c.Namespaces.Get(ctx, []string{"a"})
	if err != nil || kept.Properties["k"] != "1" {
		t.Errorf("kept namespace = %+v, %v; want its first properties", kept, err)
	}
	if _, err := c.Namespaces.Create(ctx, []string{"a"}, map[string]string{"k": "3"}, namespaces.ReplaceIfExists); err != nil {
		t.Fatal(err)
	}
	replaced, err := c.Namespaces.Get(ctx, []string{"a"})
	if err != nil || replaced.Properties["k"] != "3" {
		t.Errorf("replaced namespace = %+v, %v; want its new properties", replaced, err)
	}
	_, err = c.Namespaces.Get(ctx, []string{"a", "b"})
	wantCode(t, "child of the replaced namespace", err, "NamespaceNotFound")
}

func TestNamespacesAreDroppedByBehavior(t *testing.T) {
	ctx := t.Context()
	store := memstore.New()
	c := open(t, store)
	mustCreate(t, c, "a", "a/b", "a/b/c", "d")
	mustTable(t, c, "a/b/t")
	_, err := c.Namespaces.Drop(ctx, []string{"a"}, false)
	wantCode(t, "drop of a namespace with children", err, "NamespaceNotEmpty")
	_, err = c.Namespaces.Drop(ctx, []string{"d"}, false)
	wantCode(t, "drop of an empty namespace", err, "")
	_, err = c.Namespaces.Drop(ctx, []string{"d"}, false)
	wantCode(t, "drop of a missing namespace", err, "NamespaceNotFound")
	_, err = c.Namespaces.Drop(ctx, nil, true)
	wantCode(t, "drop of the root", err, "InvalidInput")
	mustCreate(t, c, "a/x") // the refused drop left no mark
	_, err = c.Namespaces.Drop(ctx, []string{"a"}, true)
	wantCode(t, "cascading drop", err, "")
	page, err := store.List(ctx, objectstore.ListOptions{})
	if err != nil || len(page.Objects) != 0 {
		t.Errorf("after all is dropped there are %v, %v", page.Objects, err)
	}
}

func split(path string) []string { return strings.Split(path, "/") }

func mustCreate(t *testing.T, c *Catalog, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if _, err := c.Namespaces.Create(t.Context(), split(p), nil, namespaces.FailIfExists); err != nil {
			t.Fatal(err)
		}
	}
}

func mustTable(t *testing.T, c *Catalog, paths ...string) {
	t.Helper()
	for _, p := range paths {
		id := split(p)
		if _, err := c.CreateTable(t.Context(), id, c.Places.New(id), 0, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTablesAreNamedAndForgotten(t *testing.T) {
	ctx := t.Context()
	c := open(t, memstore.New())
	id := []string{"t"}
	first, err := c.CreateTable(ctx, id, c.Places.New(id), 0, map[string]string{"p": "v"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateTable(ctx, id, c.Places.New(id), 0, nil); code(err) != "TableAlreadyExists" {
		t.Errorf("second create: %v", err)
	}
	second, err := c.RegisterTable(ctx, id, Registration{Location: c.Places.New(id), Replace: true})
	if err != nil || second.Location.URI == first.Location.URI {
		t.Errorf("replacing create = %+v, %v; want another location", second, err)
	}
	got, err := c.Table(ctx, id)
	if err != nil || got.Location.URI != second.Location.URI {
		t.Errorf("table = %+v, %v; want the second", got, err)
	}
	if _, err := c.Table(ctx, []string{"missing"}); code(err) != "TableNotFound" {
		t.Errorf("missing table: %v", err)
	}
	if _, err := c.Table(ctx, []string{"nowhere", "t"}); code(err) != "NamespaceNotFound" {
		t.Errorf("table in a missing namespace: %v", err)
	}
	if _, err := c.DeregisterTable(ctx, id); err != nil {
		t.Error(err)
	}
	if _, err := c.DeregisterTable(ctx, id); code(err) != "TableNotFound" {
		t.Errorf("second deregister: %v", err)
	}
}

func TestDropTableDeletesItsDataOnly(t *testing.T) {
	ctx := t.Context()
	store := memstore.New()
	c := open(t, store)
	mustTable(t, c, "t", "u")
	for _, name := range []string{"t", "u"} {
		table, err := c.Table(ctx, []string{name})
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"/_versions/1.manifest", "/data/x.lance"} {
			if _, err := store.Put(ctx, table.Location.Prefix+key, []byte("x"), objectstore.Condition{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := c.DropTable(ctx, []string{"t"}); err != nil {
		t.Fatal(err)
	}
	page, err := store.List(ctx, objectstore.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Objects) != 3 {
		t.Errorf("after the drop there are %v, want the record and the two objects of u", page.Objects)
	}
}

func TestListsArePagedInNameOrder(t *testing.T) {
	ctx := t.Context()
	c := open(t, memstore.New())
	mustCreate(t, c, "ns")
	names := []string{"-x", "A", "Z", "_", "a", "a b", "a.b", "ab", "b", "z", "é", "日本"}
	for _, n := range names {
		if _, err := c.CreateTable(ctx, []string{"ns", n}, c.Places.New([]string{n}), 0, nil); err != nil {
			t.Fatal(err)
		}
	}
	all, next, err := c.Lists.Names(ctx, lists.Tables, []string{"ns"}, "", lists.NoLimit)
	if err != nil || next != "" || !cmp.Equal(all, names) {
		t.Errorf("all tables = %q, %q, %v; want %q", all, next, err, names)
	}
	var paged []string
	for after := ""; ; {
		page, next, err := c.Lists.Names(ctx, lists.Tables, []string{"ns"}, after, 5)
		if err != nil {
			t.Fatal(err)
		}
		paged = append(paged, page...)
		if next == "" {
			break
		}
		after = next
	}
	if !cmp.Equal(paged, names) {
		t.Errorf("paged tables = %q, want %q", paged, names)
	}
	page, _, err := c.Lists.Names(ctx, lists.Tables, []string{"ns"}, "a a", 2) // a name that does not exist
	if err != nil || !cmp.Equal(page, []string{"a b", "a.b"}) {
		t.Errorf("page after a missing name = %q, %v", page, err)
	}
	if page, _, err := c.Lists.Names(ctx, lists.Tables, []string{"ns"}, "", 0); err != nil || len(page) != 0 {
		t.Errorf("page of none = %q, %v", page, err)
	}
	if _, _, err := c.Lists.Names(ctx, lists.Tables, []string{"missing"}, "", lists.NoLimit); code(err) != "NamespaceNotFound" {
		t.Errorf("list of a missing namespace: %v", err)
	}
}

func TestListsAllFindsTablesInDeepNamespaces(t *testing.T) {
	c := open(t, memstore.New())
	long := strings.Repeat("x", 250)
	mustCreate(t, c, "a", "a/"+long)
	mustTable(t, c, "t", "a/t", "a/"+long+"/u", "a/"+long+"/v")
	got, err := c.Lists.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	joined := map[string]bool{}
	for _, id := range got {
		joined[strings.Join(id, "/")] = true
	}
	want := map[string]bool{"t": true, "a/t": true, "a/" + long + "/u": true, "a/" + long + "/v": true}
	if diff := cmp.Diff(want, joined); diff != "" {
		t.Errorf("all tables (-want +got):\n%s", diff)
	}
}

func TestLookupNoticesThatATableMoved(t *testing.T) {
	ctx := t.Context()
	store := memstore.New()
	c, elsewhere := open(t, store), open(t, store) // two processes
	id := []string{"t"}
	mustTable(t, c, "t")
	if found, err := c.Lookup(ctx, id); err != nil || found.Confirm() != nil {
		t.Fatalf("first lookup: %v", err)
	}
	other, err := elsewhere.RegisterTable(ctx, id, Registration{Location: c.Places.New(id), Replace: true})
	if err != nil {
		t.Fatal(err)
	}
	found, err := c.Lookup(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	if err := found.Confirm(); !errors.Is(err, stored.ErrMoved) {
		t.Errorf("confirm of a moved table = %v, want ErrMoved", err)
	}
	if again, err := c.Lookup(ctx, id); err != nil || again.Table.Location.URI != other.Location.URI || again.Confirm() != nil {
		t.Errorf("a lookup after that found %+v, %v; want the new location %s", again, err, other.Location.URI)
	}
	if _, err := elsewhere.DropTable(ctx, id); err != nil {
		t.Fatal(err)
	}
	if found, err = c.Lookup(ctx, id); err == nil {
		err = found.Confirm()
	}
	wantCode(t, "lookup of a dropped table", err, "TableNotFound")
}

// The answer to a drop is lost, and another client creates the name again before the catalog looks.
// The drop then counts as done.
func TestDroppedNamesMayBeMadeAnew(t *testing.T) {
	lostAndAnew := func(key string, anew func(c *Catalog)) *Catalog {
		inner := memstore.New()
		mustCreate(t, open(t, inner), "n")
		mustTable(t, open(t, inner), "t")
		gone := false
		return open(t, faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
			if call.Kind == faultstore.Delete && call.Key == key {
				gone = true
				return faultstore.Fault{Lost: true}
			}
			if gone && call.Key == key {
				gone = false
				anew(open(t, inner))
			}
			return faultstore.Fault{}
		}))
	}
	c := lostAndAnew(keys.Namespace([]string{"n"}), func(c *Catalog) { mustCreate(t, c, "n") })
	_, err := c.Namespaces.Drop(t.Context(), []string{"n"}, false)
	wantCode(t, "drop a namespace", err, "")
	c = lostAndAnew(keys.Table([]string{"t"}), func(c *Catalog) { mustTable(t, c, "t") })
	_, err = c.DeregisterTable(t.Context(), []string{"t"})
	wantCode(t, "deregister a table", err, "ServiceUnavailable")
	_, err = c.Table(t.Context(), []string{"t"})
	wantCode(t, "the table that was made anew", err, "")
}
