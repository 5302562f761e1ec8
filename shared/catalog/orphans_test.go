package catalog

import (
	"strings"
	"testing"
	"time"

	"tiltyard/shared/catalog/batch"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/namespaces"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// A sweep removes old orphans: records that a late creator has put into a dropped namespace.
// Records with a parent stay, and so does data.
func TestSweepTakesOrphansAway(t *testing.T) {
	long := strings.Repeat("long", 60) // whose folder is hashed
	store := memstore.New()
	c := open(t, store)
	mustCreate(t, c, "kept", "kept/in", long, long+"/in", "gone", "gone/in", "gone/full")
	mustTable(t, c, "t", "kept/t", "kept/in/t", long+"/t", long+"/in/t", "gone/t", "gone/full/t")
	table, err := c.Table(t.Context(), split("gone/t"))
	if err != nil {
		t.Fatal(err)
	}
	data := table.Location.Prefix + "/data/x.lance"
	if _, err := store.Put(t.Context(), data, []byte("x"), objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"gone", long} {
		if err := store.Delete(t.Context(), keys.Namespace([]string{id}), objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	if deleted, err := c.Sweeper.Sweep(t.Context(), 0); err != nil || deleted != 0 {
		t.Errorf("a sweep took %d records that are young (%v)", deleted, err)
	}
	c.names.Now = func() time.Time { return time.Now().Add(48 * time.Hour) }
	if deleted, err := c.Sweeper.Sweep(t.Context(), 0); err != nil || deleted != 3 {
		t.Errorf("a sweep took %d records (%v), want 3", deleted, err)
	}
	left := map[string]bool{}
	page, err := store.List(t.Context(), objectstore.ListOptions{Prefix: keys.Records})
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range page.Objects {
		left[object.Key] = true
	}
	for id, want := range map[string]bool{
		"t": true, "kept/t": true, "kept/in/t": true, "gone/full/t": true, "gone/t": false, long + "/t": false, long + "/in/t": true,
	} {
		if key := keys.Table(split(id)); left[key] != want {
			t.Errorf("table %s is there: %v, want %v", id, left[key], want)
		}
	}
	for id, want := range map[string]bool{"kept": true, "kept/in": true, "gone/in": false, "gone/full": true, long + "/in": true} {
		if key := keys.Namespace(split(id)); left[key] != want {
			t.Errorf("namespace %s is there: %v, want %v", id, left[key], want)
		}
	}
	if _, _, err := store.Get(t.Context(), data); err != nil {
		t.Errorf("data of a table that was an orphan: %v", err)
	}
}

// A create in a namespace that does not exist is not answered that the name is taken.
func TestNamesOfOrphansAreNotTaken(t *testing.T) {
	store := memstore.New()
	c := open(t, store)
	mustCreate(t, c, "gone", "gone/in")
	mustTable(t, c, "gone/t", "other")
	if err := store.Delete(t.Context(), keys.Namespace([]string{"gone"}), objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	_, err := c.Namespaces.Create(t.Context(), split("gone/in"), nil, namespaces.FailIfExists)
	wantCode(t, "create a namespace", err, "NamespaceNotFound")
	_, err = c.CreateTable(t.Context(), split("gone/t"), c.Places.New(split("gone/t")), 0, nil)
	wantCode(t, "create a table", err, "NamespaceNotFound")
	_, err = c.RenameTable(t.Context(), split("other"), split("gone/t"))
	wantCode(t, "rename a table", err, "NamespaceNotFound")
	_, err = commit(t.Context(), c, []batch.Operation{{ID: split("gone/t"), Declare: &batch.Declaration{Location: c.Places.New(split("gone/t"))}}})
	wantCode(t, "declare a table in a batch", err, "NamespaceNotFound")
}
