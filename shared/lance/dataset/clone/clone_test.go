package clone_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/clone"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

func TestCloneRefersToTheFilesOfItsSource(t *testing.T) {
	ctx := t.Context()
	store := memstore.New()
	session := dataset.NewSession(64<<20, time.Now)
	at := func(name string) *dataset.Table {
		return session.Table(objectstore.Location{URI: "memory://test/" + name, Store: store, Prefix: name}, 0)
	}
	d := datasettest.Create(t, at("a.lance"), datasettest.UpTo(10)...)
	made, err := d.Delete(ctx, rowset.At(datasettest.AddressesOf(t, d, datasettest.Multiples(2))...), "")
	if err != nil {
		t.Fatal(err)
	}
	cloned, err := clone.Shallow(ctx, made.Dataset, at("b.lance"), "")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := datasettest.IDsOf(t, cloned, snapshot.ScanOptions{}), []int64{1, 3, 5, 7, 9}; !cmp.Equal(got, want) || cloned.Version() != 2 {
		t.Errorf("version %d of the clone holds %v, want %v in version 2", cloned.Version(), got, want)
	}
	deleted, err := cloned.Delete(ctx, rowset.At(datasettest.AddressesOf(t, cloned, datasettest.Multiples(3))...), "")
	if err != nil {
		t.Fatal(err)
	}
	appended, err := at("b.lance").Append(ctx, datasettest.RowsOf(50))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := datasettest.IDsOf(t, appended.Dataset, snapshot.ScanOptions{}), []int64{1, 5, 7, 50}; !cmp.Equal(got, want) {
		t.Errorf("the clone holds %v, want %v", got, want)
	}
	if deleted.Dataset.Version() != 3 {
		t.Errorf("version %d of the clone, want 3", deleted.Dataset.Version())
	}
	if _, err := clone.Shallow(ctx, d, at("b.lance"), ""); !errors.Is(err, dataset.ErrTableExists) {
		t.Errorf("clone over a table: %v, want ErrTableExists", err)
	}
}

// A deep clone of a shallow clone, whose files lie in two folders, needs neither of the two.
func TestDeepCloneNeedsNoOtherFolder(t *testing.T) {
	ctx := t.Context()
	store := memstore.New()
	session := dataset.NewSession(64<<20, time.Now)
	at := func(name string) *dataset.Table {
		return session.Table(objectstore.Location{URI: "memory://test/" + name, Store: store, Prefix: name}, 0)
	}
	d := datasettest.Create(t, at("a.lance"), datasettest.UpTo(10)...)
	made, err := d.Delete(ctx, rowset.At(datasettest.AddressesOf(t, d, datasettest.Multiples(2))...), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := clone.Shallow(ctx, made.Dataset, at("b.lance"), ""); err != nil {
		t.Fatal(err)
	}
	shallow, err := at("b.lance").Append(ctx, datasettest.RowsOf(50))
	if err != nil {
		t.Fatal(err)
	}
	deep, err := clone.Deep(ctx, shallow.Dataset, at("c.lance"))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := store.List(ctx, objectstore.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects.Objects {
		if !strings.HasPrefix(o.Key, "c.lance/") {
			if err := store.Delete(ctx, o.Key, objectstore.Condition{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	fresh, err := dataset.NewSession(64<<20, time.Now).Table(objectstore.Location{URI: "memory://test/c.lance", Store: store, Prefix: "c.lance"}, 0).Latest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := datasettest.IDsOf(t, fresh, snapshot.ScanOptions{}), []int64{1, 3, 5, 7, 9, 50}; !cmp.Equal(got, want) {
		t.Errorf("the clone holds %v, want %v", got, want)
	}
	if m := fresh.Manifest(); len(m.BasePaths) != 0 || m.Version != shallow.Dataset.Version() || deep.Version() != m.Version {
		t.Errorf("version %d with base paths %v, want version %d without any", m.Version, m.BasePaths, shallow.Dataset.Version())
	}
	if _, err := clone.Deep(ctx, deep, at("c.lance")); !errors.Is(err, dataset.ErrTableExists) {
		t.Errorf("deep clone over a table: %v, want ErrTableExists", err)
	}
}
