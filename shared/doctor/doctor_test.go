package doctor_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/catalog"
	"tiltyard/shared/doctor"
	"tiltyard/shared/engine/build"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/service/servicetest"
)

// findings runs the doctor and returns what it finds, as kind and object.
func findings(t *testing.T, h *servicetest.House, fix bool) (found []string, fixed int) {
	t.Helper()
	err := doctor.Run(t.Context(), doctor.Options{Tables: h.Tables, Fix: fix}, func(f doctor.Finding) {
		found = append(found, f.Kind+" "+f.Object)
		if f.Mend == "" || f.Fixed && !f.Fixable {
			t.Errorf("%+v has no way out", f)
		}
		if f.Fixed {
			fixed++
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return found, fixed
}

// a house with a table t of two versions, which is as it should be.
func sound(t *testing.T) *servicetest.House {
	t.Helper()
	h := servicetest.Open(t)
	h.Create(t, "t", `[{"id":1,"name":"a"}]`)
	h.Insert(t, "t", `[{"id":2,"name":"b"}]`)
	if got, _ := findings(t, h, true); len(got) > 0 {
		t.Fatalf("a sound root has %v", got)
	}
	return h
}

// keysOf returns the keys in the folder of the table t that contain a text.
func keysOf(t *testing.T, h *servicetest.House, part string) []string {
	t.Helper()
	var all []string
	for object, err := range objectstore.Objects(t.Context(), h.Objects, objectstore.ListOptions{Prefix: "t-", Limit: 100}) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(object.Key, part) {
			all = append(all, object.Key)
		}
	}
	return all
}

func put(t *testing.T, h *servicetest.House, key, text string) {
	t.Helper()
	if _, err := h.Objects.Put(t.Context(), key, []byte(text), objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, h *servicetest.House, keys ...string) {
	t.Helper()
	if len(keys) == 0 {
		t.Fatal("there is nothing to remove")
	}
	for _, key := range keys {
		if err := h.Objects.Delete(t.Context(), key, objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
}

const gone = "gone-0123456789abcdef01234567.lance"

// Each fault is planted in a sound root, found there, and mended if it can be.
func TestPlantedFaultsAreFound(t *testing.T) {
	for _, test := range []struct {
		name  string
		plant func(t *testing.T, h *servicetest.House)
		want  []string
		fixed bool // --fix mends it
	}{
		{"a record that is no JSON", func(t *testing.T, h *servicetest.House) { put(t, h, "_catalog/$/t/bad", "{") },
			[]string{"damaged-record _catalog/$/t/bad"}, false},
		{"a namespace that is no JSON", func(t *testing.T, h *servicetest.House) { put(t, h, "_catalog/$/n/bad", "{") },
			[]string{"damaged-record _catalog/$/n/bad"}, false},
		{"a record without a namespace", func(t *testing.T, h *servicetest.House) {
			put(t, h, "_catalog/$none/t/x", `{"id":["none","x"],"uid":"u","location":"t.lance","created_at":"2026-01-02T03:04:05Z"}`)
		}, []string{"orphan-record none"}, true},
		{"files of no table", func(t *testing.T, h *servicetest.House) { put(t, h, gone+"/data/x.lance", "x") },
			[]string{"orphan-folder " + gone}, true},
		{"a table of LanceDB", func(t *testing.T, h *servicetest.House) { put(t, h, "other.lance/data/x.lance", "x") },
			[]string{"unknown-folder other.lance"}, false},
		{"a folder of another program", func(t *testing.T, h *servicetest.House) { put(t, h, "photos/x.jpg", "x") }, nil, false},
		{"a deregistered table", func(t *testing.T, h *servicetest.House) {
			if _, err := h.Names.DeregisterTable(t.Context(), []string{"t"}); err != nil {
				t.Fatal(err)
			}
		}, nil, false},
		{"a dropped table whose time is over", func(t *testing.T, h *servicetest.House) {
			h.Names.Retention = time.Hour
			if _, err := h.Names.DropTable(t.Context(), []string{"t"}); err != nil {
				t.Fatal(err)
			}
		}, []string{"expired-drop t"}, true},
		{"all versions are gone", func(t *testing.T, h *servicetest.House) { remove(t, h, keysOf(t, h, "/_versions/")...) },
			[]string{"no-version t"}, false},
		{"a manifest is cut short", func(t *testing.T, h *servicetest.House) { put(t, h, keysOf(t, h, "/_versions/")[0], "LANC") },
			[]string{"unreadable-table t"}, false},
		{"an old manifest is cut short", func(t *testing.T, h *servicetest.House) { put(t, h, keysOf(t, h, "/_versions/")[1], "LANC") },
			[]string{"unreadable-version t"}, false},
		{"an index is behind", func(t *testing.T, h *servicetest.House) {
			makeIndex(t, h)
			h.Insert(t, "t", `[{"id":3,"name":"c"}]`)
		}, []string{"stale-index t"}, false},
		{"the files of an index are gone", func(t *testing.T, h *servicetest.House) {
			makeIndex(t, h)
			remove(t, h, keysOf(t, h, "/_indices/")...)
		}, []string{"damaged-index t"}, false},
		{"a data file is gone", func(t *testing.T, h *servicetest.House) { remove(t, h, keysOf(t, h, "/data/")[0]) },
			[]string{"missing-file t"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := sound(t)
				test.plant(t, h)
				if got, _ := findings(t, h, false); strings.HasPrefix(test.name, "files of no") && len(got) > 0 {
					t.Errorf("young files are %v", got)
				}
				time.Sleep(catalog.MinFolderAge + time.Minute)
				before := content(t, h)
				if got, fixed := findings(t, h, false); !cmp.Equal(got, test.want) || fixed > 0 {
					t.Errorf("found %v, want %v", got, test.want)
				}
				if diff := cmp.Diff(before, content(t, h)); diff != "" {
					t.Errorf("the doctor changed, without --fix:\n%s", diff)
				}
				if got, fixed := findings(t, h, true); !cmp.Equal(got, test.want) || (fixed == len(got) && fixed > 0) != test.fixed {
					t.Errorf("found %v and mended %d, want %v", got, fixed, test.want)
				}
				if test.fixed {
					test.want = nil
				}
				if got, _ := findings(t, h, false); !cmp.Equal(got, test.want) {
					t.Errorf("afterwards there are %v, want %v", got, test.want)
				}
			})
		})
	}
}

func makeIndex(t *testing.T, h *servicetest.House) {
	t.Helper()
	found, err := h.Names.Table(t.Context(), []string{"t"})
	if err == nil {
		_, err = h.At(found).CreateIndex(t.Context(), build.Index{Name: "id_idx", Column: "id", Kind: indexmeta.BTree})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, h *servicetest.House) map[string]string {
	t.Helper()
	all := map[string]string{}
	for object, err := range objectstore.Objects(t.Context(), h.Objects, objectstore.ListOptions{Limit: 100}) {
		if err != nil {
			t.Fatal(err)
		}
		all[object.Key] = object.ETag
	}
	return all
}
