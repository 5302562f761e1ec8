package cleanup_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/cleanup"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// A slow writer, or one with an old listing, commits into the newest version even if all versions
// that others made in the meantime were deleted except for the last.
func TestWriterDoesNotReuseADeletedVersion(t *testing.T) {
	others := func(t *testing.T, inner objectstore.Store) {
		t.Helper()
		other := datasettest.TableIn(inner)
		datasettest.Append(t, other, "", 2)
		datasettest.Append(t, other, "", 3)
		datasettest.Append(t, other, "", 4)
		deleted, err := cleanup.DeleteVersions(context.Background(), other, func(v uint64) bool { return v == 2 || v == 3 }, false)
		if err != nil || deleted != 2 {
			t.Errorf("deleted %d versions (%v), want 2", deleted, err)
		}
	}
	// Each case concerns version 2, which the writer takes for the next one. Others commit while
	// its first request of some kind is delayed.
	slow := func(kind faultstore.Kind, folder string) func(*testing.T, objectstore.Store) func(faultstore.Call) faultstore.Fault {
		return func(t *testing.T, inner objectstore.Store) func(faultstore.Call) faultstore.Fault {
			var met atomic.Bool
			return func(call faultstore.Call) faultstore.Fault {
				if call.Kind != kind || !strings.Contains(call.Key, folder) || met.Swap(true) {
					return faultstore.Fault{}
				}
				return faultstore.Fault{Wait: func(context.Context) error {
					others(t, inner)
					return nil
				}}
			}
		}
	}
	longAgo := func(t *testing.T, inner objectstore.Store) func(faultstore.Call) faultstore.Fault {
		time.Sleep(30 * time.Second)
		others(t, inner)
		return func(faultstore.Call) faultstore.Fault { return faultstore.Fault{} }
	}
	for _, test := range []struct {
		name string
		plan func(t *testing.T, inner objectstore.Store) func(faultstore.Call) faultstore.Fault
	}{
		{"the put is slow", slow(faultstore.PutIfAbsent, "/_versions/")},
		{"the rows are slow", slow(faultstore.Put, "/data/")},
		{"the table was looked at long ago", longAgo},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := memstore.New()
				plan := func(faultstore.Call) faultstore.Fault { return faultstore.Fault{} }
				table := datasettest.TableIn(faultstore.New(inner, func(call faultstore.Call) faultstore.Fault { return plan(call) }))
				datasettest.Create(t, table, 1)
				plan = test.plan(t, inner)
				made := datasettest.Append(t, table, "", 5)
				if made.Version() != 5 {
					t.Errorf("it made version %d, want 5", made.Version())
				}
				newest, err := datasettest.TableIn(inner).Latest(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				ids := datasettest.IDsOf(t, newest, snapshot.ScanOptions{})
				slices.Sort(ids)
				if want := []int64{1, 2, 3, 4, 5}; !slices.Equal(ids, want) {
					t.Errorf("the newest version holds %v, want %v", ids, want)
				}
				if got, want := datasettest.Versions(t, table), []uint64{5, 4, 1}; !slices.Equal(got, want) {
					t.Errorf("there are versions %v, want %v", got, want)
				}
			})
		})
	}
}

// The version listed as the newest is gone when it is read, because others made newer ones and
// deleted it, or dropped the table. A process without a cache gets the newest version or
// ErrNoTable.
func TestNewestVersionMayGoAfterItWasListed(t *testing.T) {
	for name, test := range map[string]struct {
		others func(t *testing.T, store objectstore.Store)
		want   uint64 // 0 for none
	}{
		"replaced": {func(t *testing.T, store objectstore.Store) {
			other := datasettest.TableIn(store)
			datasettest.Append(t, other, "", 2)
			if _, err := cleanup.DeleteVersions(t.Context(), other, func(v uint64) bool { return v == 1 }, false); err != nil {
				t.Fatal(err)
			}
		}, 2},
		"dropped": {func(t *testing.T, store objectstore.Store) {
			for _, key := range datasettest.Keys(t, store) {
				if err := store.Delete(t.Context(), key, objectstore.Condition{}); err != nil {
					t.Fatal(err)
				}
			}
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := memstore.New()
				datasettest.Create(t, datasettest.TableIn(inner), 1)
				var met atomic.Bool
				store := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
					if !strings.HasSuffix(call.Key, ".manifest") || met.Swap(true) {
						return faultstore.Fault{}
					}
					return faultstore.Fault{Wait: func(context.Context) error {
						test.others(t, inner)
						return nil
					}}
				})
				got, err := datasettest.TableIn(store).Latest(t.Context())
				switch {
				case test.want == 0:
					if !errors.Is(err, dataset.ErrNoTable) {
						t.Errorf("got %v, want %v", err, dataset.ErrNoTable)
					}
				case err != nil:
					t.Error(err)
				case got.Version() != test.want:
					t.Errorf("got version %d, want %d", got.Version(), test.want)
				}
			})
		})
	}
}
