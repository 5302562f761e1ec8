package cleanup_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/branches"
	"tiltyard/shared/lance/dataset/cleanup"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/dataset/tags"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

func TestVersionsInUseAreNotDeleted(t *testing.T) {
	synctest.Test(t, testVersionsInUse) // as young versions are not deleted at once
}

func testVersionsInUse(t *testing.T) {
	table := datasettest.TableIn(memstore.New())
	datasettest.Create(t, table, 1)
	for id := range int64(7) {
		datasettest.Append(t, table, "", 2+id)
	}
	datasettest.Branch(t, table, "dev", "", 5)
	datasettest.Append(t, table, "dev", 100)
	datasettest.Append(t, table, "dev", 101)
	if err := tags.Create(t.Context(), table, "kept", "", 3); err != nil {
		t.Fatal(err)
	}
	if err := tags.Create(t.Context(), table, "elsewhere", "dev", 6); err != nil {
		t.Fatal(err)
	}
	every := func(uint64) bool { return true }
	dev, err := branches.Open(t.Context(), table, "dev")
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		what    string
		table   *dataset.Table
		doomed  func(uint64) bool
		all     bool
		deleted int
		left    []uint64
	}{
		{"up to three", table, func(v uint64) bool { return v <= 3 }, false, 2, []uint64{8, 7, 6, 5, 4, 3}},
		{"once more", table, func(v uint64) bool { return v <= 3 }, false, 0, []uint64{8, 7, 6, 5, 4, 3}},
		{"what can go", table, every, false, 3, []uint64{8, 5, 3}},
		{"of a branch", dev, every, false, 1, []uint64{7, 6}},
		{"the newest too", table, every, true, 1, []uint64{5, 3}},
	} {
		deleted, err := cleanup.DeleteVersions(t.Context(), step.table, step.doomed, step.all)
		if err != nil || deleted != step.deleted {
			t.Errorf("%s: deleted %d (%v), want %d", step.what, deleted, err, step.deleted)
		}
		if diff := cmp.Diff(step.left, datasettest.Versions(t, step.table)); diff != "" {
			t.Errorf("%s: versions left (-want +got):\n%s", step.what, diff)
		}
	}
	latest, err := table.Latest(t.Context())
	if err != nil || latest.Version() != 5 {
		t.Errorf("newest is %v (%v), want version 5", latest, err)
	}
}

func TestVersionsAreMadeByAPublisher(t *testing.T) {
	store := memstore.New()
	plain := datasettest.TableIn(store)
	datasettest.Create(t, plain, 1)
	calls := 0
	published := datasettest.TableIn(store).PublishWith(func(ctx context.Context, version uint64, scheme manifest.Scheme, file []byte) (objectstore.Info, error) {
		if calls++; calls == 1 { // another writer comes first
			datasettest.Append(t, plain, "", 2)
		}
		return store.Put(ctx, manifest.Key(plain.Place().Prefix, version, scheme), file, objectstore.Condition{IfAbsent: true})
	})
	made := datasettest.Append(t, published, "", 3)
	if made.Version() != 3 || calls != 2 {
		t.Errorf("version %d was made by %d calls, want version 3 by 2", made.Version(), calls)
	}
	if diff := cmp.Diff([]int64{1, 2, 3}, datasettest.IDsOf(t, made, snapshot.ScanOptions{})); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// A process has cached an old version as the newest. Another makes further versions, deletes all
// but the newest, and is interrupted half way. The first process still finds the newest version.
func TestDeleteVersionsHidesNoVersionWhenItBreaksOff(t *testing.T) {
	const versions = 6
	for known := 1; known < versions; known++ {
		for nth := 1; nth < versions; nth++ {
			synctest.Test(t, func(t *testing.T) {
				store := memstore.New()
				reader, writer := datasettest.TableIn(store), datasettest.TableIn(store)
				datasettest.Create(t, writer, 1)
				for v := 2; v <= versions; v++ {
					if v == known+1 {
						if d, err := reader.Latest(t.Context()); err != nil || d.Version() != uint64(known) {
							t.Fatalf("the reader knows %v, %v; want version %d", d, err, known)
						}
					}
					datasettest.Append(t, writer, "", int64(v))
				}
				deletes := 0
				var mu sync.Mutex
				breaking := faultstore.New(store, func(c faultstore.Call) faultstore.Fault {
					mu.Lock()
					defer mu.Unlock()
					if c.Kind == faultstore.Delete {
						deletes++
					}
					if c.Kind == faultstore.Delete && deletes >= nth {
						return faultstore.Fault{Err: errors.New("refused")}
					}
					return faultstore.Fault{}
				})
				if _, err := cleanup.DeleteVersions(t.Context(), datasettest.TableIn(breaking), func(uint64) bool { return true }, false); err == nil {
					t.Fatal("the deletion does not break off")
				}
				if d, err := reader.Latest(t.Context()); err != nil || d.Version() != versions {
					t.Errorf("after %d deletions a reader that knows version %d finds %d, %v", nth-1, known, d.Version(), err)
				}
			})
		}
	}
}
