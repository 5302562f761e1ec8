package dataset_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// checkKept checks that the memory that a process retains after using the tables of a store is not
// much more than its cache's capacity.
func checkKept(t *testing.T, store objectstore.Store, most int64, use func(*dataset.Session)) {
	t.Helper()
	session := dataset.NewSession(uint64(most), time.Now)
	use(session)
	heap := heapBytes()
	runtime.KeepAlive(session)
	kept := heap - heapBytes()
	runtime.KeepAlive(store)
	if kept > 2*most {
		t.Errorf("the process keeps %d bytes with a cache of %d", kept, most)
	}
}

func placeOf(store objectstore.Store, name string) objectstore.Location {
	return objectstore.Location{URI: "memory://test/" + name, Store: store, Prefix: name}
}

// A process that has read many versions keeps to its cache, however long their manifests are.
func TestVersionsWithLongManifestsKeepToTheCache(t *testing.T) {
	store := memstore.New()
	d := datasettest.Create(t, datasettest.TableIn(store), 1)
	value := strings.Repeat("x", 1<<20)
	for i := range 60 {
		number := fmt.Sprint(i)
		made, err := d.Commit(t.Context(), &pb.UpdateConfig{TableMetadata: &pb.UpdateMap{Entries: []pb.UpdateMapEntry{
			{Key: "k", Value: &value}, {Key: "n", Value: &number},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		d = made
	}
	checkKept(t, store, 16<<20, func(s *dataset.Session) {
		for version := range d.Version() {
			if _, err := s.Table(placeOf(store, "t.lance"), 0).Version(t.Context(), version+1); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A process that has read deletion vectors of many versions keeps to its cache.
func TestDeletionsOfManyVersionsKeepToTheCache(t *testing.T) {
	store := memstore.New()
	const rows, versions = 1 << 20, 200
	made, err := datasettest.TableIn(store).Create(t.Context(), datasettest.RowsOf(datasettest.UpTo(rows)...))
	if err != nil {
		t.Fatal(err)
	}
	d := made.Dataset
	for i := range uint64(versions) {
		gone := rowset.At(i)
		if i == 0 {
			for row := uint64(1); row < rows; row += 2 {
				gone.Add([]uint64{row})
			}
		} else {
			gone = rowset.At(2 * i)
		}
		if made, err = d.Delete(t.Context(), gone, ""); err != nil {
			t.Fatal(err)
		}
		d = made.Dataset
	}
	checkKept(t, store, 4<<20, func(s *dataset.Session) {
		for version := uint64(2); version <= d.Version(); version++ {
			old, err := s.Table(placeOf(store, "t.lance"), 0).Version(t.Context(), version)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := old.Fragments()[0].Deletions(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A process that has deleted rows of many tables keeps to its cache, however long the conditions were.
func TestTransactionsOfManyTablesKeepToTheCache(t *testing.T) {
	store := memstore.New()
	checkKept(t, store, 16<<20, func(s *dataset.Session) {
		for i := range 12 {
			made, err := s.Table(placeOf(store, fmt.Sprint(i)), 0).Create(t.Context(), datasettest.RowsOf(0, 1, 2, 3, 4, 5, 6, 7, 8))
			if err != nil {
				t.Fatal(err)
			}
			for row := range uint64(8) {
				gone := rowset.At()
				gone.Add([]uint64{row})
				if made, err = made.Dataset.Delete(t.Context(), gone, strings.Repeat("x", 1<<20)); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
