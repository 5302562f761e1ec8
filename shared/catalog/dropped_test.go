package catalog

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/catalog/batch"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/catalog/namespaces"
	"tiltyard/shared/catalog/naming"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/catalog/upkeep"
	"tiltyard/shared/catalog/views"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// keeping is a catalog that keeps dropped tables for a week, and whose clock is set by the test.
func keeping(t *testing.T, store objectstore.Store, after time.Duration) *Catalog {
	t.Helper()
	c := open(t, store)
	c.Drops.Retention = 7 * 24 * time.Hour
	c.names.Now = func() time.Time { return time.Now().Add(after) }
	return c
}

// aged is a catalog that looks when all leases have run out, and what is dropped can be restored still.
const aged = naming.RenameLease + namespaces.DropLease + time.Second

// mustData makes a table with a file.
func mustData(t *testing.T, c *Catalog, path string) *Table {
	t.Helper()
	id := split(path)
	table, err := c.CreateTable(t.Context(), id, c.Places.New(id), 0, nil)
	if err == nil {
		_, err = table.Location.Store.Put(t.Context(), table.Location.Prefix+"/data/"+id[len(id)-1], []byte(path), objectstore.Condition{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// hasData reports whether the file of mustData is there.
func hasData(t *testing.T, at objectstore.Location) bool {
	t.Helper()
	page, err := at.Store.List(t.Context(), objectstore.ListOptions{Prefix: at.Prefix + "/data/"})
	if err != nil {
		t.Fatal(err)
	}
	return len(page.Objects) > 0
}

// restorable returns what can be restored, as its kind and path.
func restorable(t *testing.T, c *Catalog, inside ...string) []string {
	t.Helper()
	got := []string{}
	for after := ""; ; {
		page, next, err := c.Drops.List(t.Context(), inside, after, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range page {
			got = append(got, string(one.Kind)+" "+strings.Join(one.ID, "/"))
		}
		if after = next; next == "" {
			slices.Sort(got)
			return got
		}
	}
}

func TestUndropTableRestoresATable(t *testing.T) {
	ctx := auth.NewContext(t.Context(), &auth.Principal{Subject: "ada"})
	store := memstore.New()
	c := keeping(t, store, 0)
	mustCreate(t, c, "n")
	first := mustData(t, c, "n/t")
	gone, err := c.DropTable(ctx, split("n/t"))
	if err != nil || gone.Dropped == nil || !slices.Equal(gone.ID, split("n/t")) || gone.Location.URI != first.Location.URI {
		t.Fatalf("the drop: %+v, %v", gone, err)
	}
	if d := gone.Dropped; d.By != "ada" || d.Until.Sub(d.At) != c.Drops.Retention || !slices.Equal(d.ID, split("n/t")) {
		t.Errorf("the drop is recorded as %+v", d)
	}
	_, err = c.Table(ctx, split("n/t"))
	wantCode(t, "a look at the dropped table", err, "TableNotFound")
	if ids, err := c.Lists.All(ctx); err != nil || len(ids) != 0 {
		t.Errorf("all tables are %v, %v", ids, err)
	}
	second := mustData(t, c, "n/t") // the name is free, and the place is another one
	if second.Location.URI == first.Location.URI {
		t.Error("the new table has the place of the dropped one")
	}
	if _, err := c.Namespaces.Drop(ctx, []string{"n"}, false); code(err) != "NamespaceNotEmpty" {
		t.Errorf("drop of a namespace with a table: %v", err)
	}
	if got, want := restorable(t, c, "n"), []string{"table n/t"}; !cmp.Equal(got, want) {
		t.Errorf("restorable are %v", got)
	}
	if got := restorable(t, c, "n", "other"); len(got) != 0 {
		t.Errorf("restorable elsewhere are %v", got)
	}
	_, err = c.Drops.UndropTable(ctx, split("n/t"), "", nil)
	wantCode(t, "undrop under the name that is taken", err, "TableAlreadyExists")
	_, err = c.Drops.UndropTable(ctx, split("n/t"), "", split("missing/t"))
	wantCode(t, "undrop into a missing namespace", err, "NamespaceNotFound")
	_, err = c.Drops.UndropTable(ctx, split("n/other"), gone.Dropped.Name, nil)
	wantCode(t, "undrop of another id", err, "TableNotFound")
	if _, err = c.Drops.UndropTable(ctx, split("n/t"), "", split("n/again")); err != nil {
		t.Fatal(err)
	}
	back, err := c.Table(ctx, split("n/again"))
	if err != nil || back.Location.URI != first.Location.URI || !hasData(t, back.Location) {
		t.Errorf("restored is %+v, %v", back, err)
	}
	_, err = c.Drops.UndropTable(ctx, split("n/t"), gone.Dropped.Name, split("n/twice"))
	wantCode(t, "undrop of what is restored", err, "TableNotFound")
	if got := restorable(t, c); len(got) != 0 {
		t.Errorf("restorable are %v", got)
	}
}

func TestUndropTableRestoresTheNewestDrop(t *testing.T) {
	c := keeping(t, memstore.New(), 0)
	var places []string
	for i := range 3 {
		c.names.Now = func() time.Time { return time.Now().Add(time.Duration(i) * time.Second) }
		places = append(places, mustData(t, c, "t").Location.URI)
		if _, err := c.DropTable(t.Context(), []string{"t"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range slices.Backward(places) {
		if _, err := c.Drops.UndropTable(t.Context(), []string{"t"}, "", nil); err != nil {
			t.Fatal(err)
		}
		if got := locations(t, c, "t")["t"]; got != want {
			t.Errorf("restored is %s, want %s", got, want)
		}
		if _, err := c.RenameTable(t.Context(), []string{"t"}, []string{"moved" + keys.Escape(want[len(want)-9:len(want)-6])}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPropertiesSayHowLongWhatIsDroppedIsKept(t *testing.T) {
	const week = 7 * 24 * time.Hour
	for _, test := range []struct {
		deployment          time.Duration
		outer, inner, table string
		want                time.Duration
	}{
		{want: 0},
		{deployment: week, want: week},
		{outer: "7d", want: week},
		{outer: "7d", inner: "36h", want: 36 * time.Hour},
		{outer: "7d", table: "90s", want: 90 * time.Second},
		{deployment: week, outer: "7d", inner: "0", want: 0},
		{deployment: week, table: "0", want: 0},
	} {
		c := open(t, memstore.New())
		c.Drops.Retention = test.deployment
		property := func(text string) map[string]string {
			if text == "" {
				return nil
			}
			return map[string]string{protocol.PropertyDropRetention: text}
		}
		_, err := c.Namespaces.Create(t.Context(), split("a"), property(test.outer), namespaces.FailIfExists)
		if err == nil {
			_, err = c.Namespaces.Create(t.Context(), split("a/b"), property(test.inner), namespaces.FailIfExists)
		}
		id := split("a/b/t")
		if err == nil {
			_, err = c.CreateTable(t.Context(), id, c.Places.New(id), 0, property(test.table))
		}
		if err != nil {
			t.Fatal(err)
		}
		gone, err := c.DropTable(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		var got time.Duration
		if gone.Dropped != nil {
			got = gone.Dropped.Until.Sub(gone.Dropped.At)
		}
		if got != test.want {
			t.Errorf("%+v: kept for %v", test, got)
		}
	}
}

// Each way to make an object refuses properties that nothing could follow later.
func TestBadPropertiesAreRefused(t *testing.T) {
	c := open(t, memstore.New())
	for key, values := range map[string][]string{
		protocol.PropertyDropRetention: {"", "7", "d", "-1h", "x", "99999d", "week", "1.5d"},
		upkeep.PropertyMode:            {"never"},
		upkeep.PropertyRetention:       {"5m", "x"},
		upkeep.PropertyKeep:            {"0"},
	} {
		for _, bad := range values {
			properties := map[string]string{key: bad}
			_, err := c.Namespaces.Create(t.Context(), split("a"), properties, namespaces.FailIfExists)
			wantCode(t, "a namespace with "+key+"="+bad, err, "InvalidInput")
			_, err = c.CreateTable(t.Context(), split("t"), c.Places.New(split("t")), 0, properties)
			wantCode(t, "a table with "+key+"="+bad, err, "InvalidInput")
			_, err = c.RegisterTable(t.Context(), split("t"), Registration{Location: c.roots.Join("x"), Properties: properties})
			wantCode(t, "a registered table with "+key+"="+bad, err, "InvalidInput")
			_, err = commit(t.Context(), c, []batch.Operation{{ID: split("t"), Declare: &batch.Declaration{Location: c.Places.New(split("t")), Properties: properties}}})
			wantCode(t, "a table of a batch with "+key+"="+bad, err, "InvalidInput")
		}
	}
}

// A table that a week has passed for is deleted by a sweep, and one that has more time is not.
func TestSweepDeletesExpiredDrops(t *testing.T) {
	store := memstore.New()
	c := keeping(t, store, 0)
	mustCreate(t, c, "n", "n/m")
	early := mustData(t, c, "n/m/early")
	if _, err := c.Namespaces.Drop(t.Context(), split("n"), true); err != nil {
		t.Fatal(err)
	}
	c = keeping(t, store, 24*time.Hour)
	late := mustData(t, c, "late")
	if _, err := c.DropTable(t.Context(), split("late")); err != nil {
		t.Fatal(err)
	}
	mustData(t, c, "stays")
	before := []string{"namespace n", "namespace n/m", "table late", "table n/m/early"}
	for _, step := range []struct {
		after       time.Duration
		want        []string
		early, late bool
	}{
		{6 * 24 * time.Hour, before, true, true},
		{7*24*time.Hour + time.Minute, []string{"table late"}, false, true},
		{9 * 24 * time.Hour, []string{}, false, false},
	} {
		c := keeping(t, store, step.after)
		if _, err := c.Sweeper.Sweep(t.Context(), 30*24*time.Hour); err != nil {
			t.Fatal(err)
		}
		if got := restorable(t, c); !cmp.Equal(got, step.want) || hasData(t, early.Location) != step.early || hasData(t, late.Location) != step.late {
			t.Errorf("after %v restorable are %v, and there are files: %v, %v", step.after, got, hasData(t, early.Location), hasData(t, late.Location))
		}
	}
	left, err := store.List(t.Context(), objectstore.ListOptions{})
	if err != nil || len(left.Objects) != 2 {
		t.Errorf("left are %v, %v; want the record and the file of the table that stays", left.Objects, err)
	}
}

func TestUndropNamespaceRestoresItsContents(t *testing.T) {
	ctx := t.Context()
	store := memstore.New()
	c := keeping(t, store, 0)
	mustCreate(t, c, "n", "n/m", "other")
	for _, path := range []string{"n/alone", "n/a", "n/m/b", "other/c"} {
		mustData(t, c, path)
	}
	if _, err := c.Views.Create(ctx, split("n/m/view"), views.NewView{
		Kind: stored.Materialized, Source: split("n/a"), Location: c.Places.New(split("n/m/view")),
	}); err != nil {
		t.Fatal(err)
	}
	plain := views.NewView{Kind: stored.Plain, Source: split("n/a"), Plain: &stored.PlainView{Query: "SELECT 1"}}
	if _, err := c.Views.Create(ctx, split("n/plain"), plain); err != nil {
		t.Fatal(err)
	}
	places := locations(t, c, "n/a", "n/m/b", "n/m/view")
	if _, err := c.DropTable(ctx, split("n/alone")); err != nil {
		t.Fatal(err)
	}
	gone, err := c.Namespaces.Drop(ctx, split("n"), true)
	if err != nil || gone.Dropped == nil {
		t.Fatalf("got %+v, %v", gone, err)
	}
	want := []string{"namespace n", "namespace n/m", "table n/a", "table n/alone", "table n/m/b", "view n/m/view", "view n/plain"}
	if got := restorable(t, c); !cmp.Equal(got, want) {
		t.Errorf("restorable are %v, want %v", got, want)
	}
	restored, err := c.Drops.UndropNamespace(ctx, split("n"), "", split("back"))
	if err != nil || restored != 6 {
		t.Errorf("restored are %d, %v", restored, err)
	}
	got := locations(t, c, "back/a", "back/m/b", "back/m/view")
	if len(got) != 3 || got["back/a"] != places["n/a"] || got["back/m/b"] != places["n/m/b"] || got["back/m/view"] != places["n/m/view"] {
		t.Errorf("the tables are %v, want %v", got, places)
	}
	if _, err := c.Views.Get(ctx, split("back/plain"), stored.Plain); err != nil {
		t.Error(err)
	}
	if got, want := restorable(t, c), []string{"table n/alone"}; !cmp.Equal(got, want) {
		t.Errorf("restorable are %v, want %v", got, want)
	}
	if _, err := c.Drops.UndropNamespace(ctx, split("n"), "", nil); code(err) != "NamespaceNotFound" {
		t.Errorf("a second undrop: %v", err)
	}
	// Dropped again, and back under its first name: the view is one of its source again.
	if _, err := c.Namespaces.Drop(ctx, split("back"), true); err != nil {
		t.Fatal(err)
	}
	mustCreate(t, c, "back")
	if _, err := c.Drops.UndropNamespace(ctx, split("back"), "", nil); code(err) != "NamespaceAlreadyExists" {
		t.Errorf("undrop of a name that is taken: %v", err)
	}
	if restored, err := c.Drops.UndropNamespace(ctx, split("back"), "", split("n")); err != nil || restored != 6 {
		t.Errorf("restored are %d, %v", restored, err)
	}
	found, err := c.Table(ctx, split("n/a"))
	if err != nil || !slices.ContainsFunc(found.Dependents, func(d stored.Dependent) bool { return slices.Equal(d.ID, split("n/m/view")) }) {
		t.Errorf("the source is %+v, %v", found, err)
	}
}

// What is dropped in steps, as a large namespace is, is restored in the same way.
func TestUndropNamespaceRestoresACascade(t *testing.T) {
	c := keeping(t, memstore.New(), 0)
	mustCreate(t, c, "n", "n/m")
	mustData(t, c, "n/m/t")
	mustData(t, c, "n/t")
	namespace, err := c.Namespaces.Get(t.Context(), split("n"))
	if err != nil {
		t.Fatal(err)
	}
	cascade, err := c.Namespaces.BeginCascade(t.Context(), split("n"), namespace.UID, "job")
	if err == nil {
		err = cascade.Run(t.Context(), func(int) error { return nil })
	}
	if err != nil {
		t.Fatal(err)
	}
	if restored, err := c.Drops.UndropNamespace(t.Context(), split("n"), "", nil); err != nil || restored != 4 {
		t.Errorf("restored are %d, %v", restored, err)
	}
	if got := locations(t, c, "n/t", "n/m/t"); len(got) != 2 {
		t.Errorf("tables are %v", got)
	}
}

// The place of a dropped table that a client chose stays its own until the table is purged.
func TestDroppedTableKeepsItsPlaceTaken(t *testing.T) {
	ctx := t.Context()
	c := keeping(t, memstore.New(), 0)
	at := c.roots.Join("chosen")
	register := func(name string) error {
		_, err := c.RegisterTable(ctx, []string{name}, Registration{Location: at})
		return err
	}
	if err := register("t"); err != nil {
		t.Fatal(err)
	}
	if _, err := at.Store.Put(ctx, at.Prefix+"/data/x", nil, objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.DropTable(ctx, split("t")); err != nil {
		t.Fatal(err)
	}
	taken := register("u")
	wantCode(t, "a table at the place of a dropped one", taken, "InvalidInput")
	if !strings.Contains(taken.Error(), "table t, which was dropped and can be restored until") {
		t.Errorf("the error is %v", taken)
	}
	if _, err := c.Drops.UndropTable(ctx, split("t"), "", split("back")); err != nil || !hasData(t, at) {
		t.Fatal(err)
	}
	if _, err := c.DropTable(ctx, split("back")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Drops.Purge(ctx, split("back"), ""); err != nil || hasData(t, at) {
		t.Fatalf("purge: %v, files: %v", err, hasData(t, at))
	}
	wantCode(t, "a table at the place of a purged one", register("u"), "")
}

// A table that was made for its place and dropped keeps its files if another table has been registered
// there meanwhile.
func TestPurgeSparesFilesThatAnotherTableShares(t *testing.T) {
	ctx := t.Context()
	c := keeping(t, memstore.New(), 0)
	at := mustData(t, c, "t").Location
	if _, err := c.DropTable(ctx, split("t")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.RegisterTable(ctx, split("second"), Registration{Location: at, Joins: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Drops.Purge(ctx, split("t"), ""); err != nil || !hasData(t, at) {
		t.Fatalf("purge: %v, files: %v", err, hasData(t, at))
	}
	if got := restorable(t, c); len(got) != 0 {
		t.Errorf("restorable are %v", got)
	}
}

// What policies hide is neither listed nor restored.
func TestHiddenDropsStayHidden(t *testing.T) {
	c := keeping(t, memstore.New(), 0)
	mustCreate(t, c, "n")
	mustData(t, c, "n/hidden")
	mustData(t, c, "n/seen")
	for _, path := range []string{"n/hidden", "n/seen"} {
		if _, err := c.DropTable(t.Context(), split(path)); err != nil {
			t.Fatal(err)
		}
	}
	policies := auth.OpenPolicies(func(context.Context) ([]byte, error) {
		return []byte(`permit (principal, action, resource == Table::"n$seen"); permit (principal, action, resource == Namespace::"n");`), nil
	}, time.Now)
	access, err := policies.Access(t.Context(), &auth.Principal{Subject: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := auth.WithAccess(t.Context(), access)
	found, _, err := c.Drops.List(ctx, nil, "", lists.NoLimit)
	if err != nil || len(found) != 1 || found[0].ID[1] != "seen" {
		t.Errorf("listed are %v, %v", found, err)
	}
	all, _, err := c.Drops.List(t.Context(), nil, "", lists.NoLimit)
	if err != nil || len(all) != 2 {
		t.Fatalf("listed are %v, %v", all, err)
	}
	for _, drop := range []string{"", all[0].Name, all[1].Name} {
		_, err := c.Drops.UndropTable(ctx, split("n/hidden"), drop, nil)
		wantCode(t, "undrop of a hidden table", err, "TableNotFound")
		_, err = c.Drops.Purge(ctx, split("n/hidden"), drop)
		wantCode(t, "purge of a hidden table", err, "TableNotFound")
	}
	if _, err := c.Drops.UndropTable(ctx, split("n/seen"), "", nil); err != nil {
		t.Error(err)
	}
	var notFound *protocol.Error
	if _, err := c.Drops.UndropTable(t.Context(), split("n/nothing"), "", nil); !errors.As(err, &notFound) || notFound.Detail == "" {
		t.Errorf("got %v, want a way out", err)
	}
}

func TestDroppedTablesHaveSizes(t *testing.T) {
	ctx := t.Context()
	c := keeping(t, memstore.New(), 0)
	at := mustData(t, c, "t").Location
	mustTable(t, c, "empty")
	for _, key := range []string{"/data/a.lance", "/_indices/b/index.idx"} {
		if _, err := at.Store.Put(ctx, at.Prefix+key, make([]byte, 1000), objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	before := bytesAt(t, at)
	for _, name := range []string{"t", "empty"} {
		if _, err := c.DropTable(ctx, split(name)); err != nil {
			t.Fatal(err)
		}
	}
	all, _, err := c.Drops.List(ctx, nil, "", lists.NoLimit)
	if err != nil {
		t.Fatal(err)
	}
	sizes, err := c.Drops.Sizes(ctx, all)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for i, one := range all {
		got[one.ID[0]] = *sizes[i]
	}
	if want := map[string]int64{"t": before, "empty": 0}; before < 2000 || !maps.Equal(got, want) {
		t.Errorf("sizes are %v, want %v", got, want)
	}
}

// bytesAt adds up what the files at a location take.
func bytesAt(t *testing.T, at objectstore.Location) (sum int64) {
	t.Helper()
	for object, err := range objectstore.Objects(t.Context(), at.Store, objectstore.ListOptions{Prefix: at.Prefix + "/"}) {
		if err != nil {
			t.Fatal(err)
		}
		sum += object.Size
	}
	return sum
}
