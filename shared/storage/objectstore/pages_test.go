package objectstore_test

import (
	"errors"
	"slices"
	"testing"

	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// putKeys returns a store with seven objects, four of them in two folders.
func putKeys(t *testing.T) *faultstore.Store {
	t.Helper()
	store := faultstore.New(memstore.New(), nil)
	for _, key := range []string{"a", "b/1", "b/2", "b/3", "c", "d/1", "e"} {
		if _, err := store.Put(t.Context(), key, []byte(key), objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	return store
}

func TestPagesYieldEachEntryOnce(t *testing.T) {
	cases := []struct {
		name     string
		opts     objectstore.ListOptions
		want     []string
		requests int
	}{
		{"all at once", objectstore.ListOptions{}, []string{"a", "b/1", "b/2", "b/3", "c", "d/1", "e"}, 1},
		{"pages of two", objectstore.ListOptions{Limit: 2}, []string{"a", "b/1", "b/2", "b/3", "c", "d/1", "e"}, 4},
		{"the last page is full", objectstore.ListOptions{Prefix: "b/", Limit: 3}, []string{"b/1", "b/2", "b/3"}, 1},
		{"after a key", objectstore.ListOptions{StartAfter: "b/2", Limit: 1}, []string{"b/3", "c", "d/1", "e"}, 4},
		{"folders", objectstore.ListOptions{Delimiter: "/", Limit: 1}, []string{"a", "b/", "c", "d/", "e"}, 5},
		{"a page ends with a folder", objectstore.ListOptions{Delimiter: "/", Limit: 2}, []string{"a", "b/", "c", "d/", "e"}, 3},
		{"nothing", objectstore.ListOptions{Prefix: "f", Limit: 1}, nil, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			store := putKeys(t)
			var got, keys []string
			for page, err := range objectstore.Pages(t.Context(), store, c.opts) {
				if err != nil {
					t.Fatal(err)
				}
				for _, object := range page.Objects {
					got, keys = append(got, object.Key), append(keys, object.Key)
				}
				got = append(got, page.Prefixes...)
			}
			if slices.Sort(got); !slices.Equal(got, c.want) {
				t.Errorf("pages hold %q; want %q", got, c.want)
			}
			if n := store.Snapshot().ByKind[faultstore.List]; n != c.requests {
				t.Errorf("pages took %d requests; want %d", n, c.requests)
			}
			var objects []string
			for object, err := range objectstore.Objects(t.Context(), store, c.opts) {
				if err != nil {
					t.Fatal(err)
				}
				objects = append(objects, object.Key)
			}
			if !slices.Equal(objects, keys) {
				t.Errorf("objects are %q; want %q", objects, keys)
			}
		})
	}
}

func TestObjectsAreListedOnlyWhileWanted(t *testing.T) {
	store := putKeys(t)
	for object, err := range objectstore.Objects(t.Context(), store, objectstore.ListOptions{Limit: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		if object.Key == "b/2" {
			break
		}
	}
	if got := store.Snapshot().ByKind[faultstore.List]; got != 2 {
		t.Errorf("the third of seven objects took %d requests in pages of two; want 2", got)
	}
}

func TestObjectsEndsAtAnError(t *testing.T) {
	store, broken := putKeys(t), errors.New("broken")
	store.Reset()
	store.Inject(func(call faultstore.Call) faultstore.Fault {
		if call.N == 2 {
			return faultstore.Fault{Err: broken}
		}
		return faultstore.Fault{}
	})
	var got []string
	var failed error
	for object, err := range objectstore.Objects(t.Context(), store, objectstore.ListOptions{Limit: 2}) {
		if err != nil {
			failed = err
			continue
		}
		got = append(got, object.Key)
	}
	if want := []string{"a", "b/1"}; !slices.Equal(got, want) || !errors.Is(failed, broken) {
		t.Errorf("got %q, %v; want %q and the error of the second page", got, failed, want)
	}
}
