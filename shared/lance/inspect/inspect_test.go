package inspect_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/inspect"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/diskstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

var update = flag.Bool("update", false, "write the golden files again")

// fixture is the place of a table in testdata.
func fixture(t *testing.T, name string) objectstore.Location {
	t.Helper()
	store, err := diskstore.OpenReadOnly("testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return objectstore.Location{URI: "/tables/" + name, Store: store, Prefix: name}
}

func look(t *testing.T, at objectstore.Location, opts inspect.Options) *inspect.Report {
	t.Helper()
	report, err := inspect.Table(t.Context(), at, opts)
	if err != nil {
		t.Fatalf("inspect %s: %v", at.URI, err)
	}
	return report
}

func text(t *testing.T, report *inspect.Report) string {
	t.Helper()
	var b strings.Builder
	if err := report.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTablePrintsText(t *testing.T) {
	cases := []struct {
		golden, table string
		opts          inspect.Options
	}{
		{"all", "all.lance", inspect.Options{Versions: 20}},
		{"older", "all.lance", inspect.Options{Version: 2, Versions: 3}},
		{"v20", "v20.lance", inspect.Options{}},
	}
	for _, c := range cases {
		t.Run(c.golden, func(t *testing.T) {
			got := text(t, look(t, fixture(t, c.table), c.opts))
			golden(t, c.golden+".golden", got)
		})
	}
}

// golden compares got with a file of testdata, or writes that.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil { //nolint:gosec // it is no secret
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestJSONHoldsEveryPage(t *testing.T) {
	report := look(t, fixture(t, "all.lance"), inspect.Options{Versions: -1})
	encoded, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	var again inspect.Report
	if err := json.Unmarshal(encoded, &again); err != nil {
		t.Fatal(err)
	}
	pages := 0
	for _, fragment := range again.Detail.Contents {
		for _, file := range fragment.Files {
			for _, column := range file.Columns {
				pages += len(column.Pages)
			}
		}
	}
	if again.Latest != 8 || len(again.Versions) != 8 || again.More {
		t.Errorf("got latest version %d, %d versions, more: %v; want 8, 8, false", again.Latest, len(again.Versions), again.More)
	}
	if len(again.Detail.Contents) != 3 || pages < 12 {
		t.Errorf("got %d fragments and %d pages, want 3 and 12 or more", len(again.Detail.Contents), pages)
	}
}

func TestTableRefusesUnknownTablesAndVersions(t *testing.T) {
	if _, err := inspect.Table(t.Context(), fixture(t, "none.lance"), inspect.Options{}); !errors.Is(err, dataset.ErrNoTable) {
		t.Errorf("no table: got %v, want ErrNoTable", err)
	}
	for _, version := range []uint64{9, 1 << 63, 1<<64 - 1} {
		_, err := inspect.Table(t.Context(), fixture(t, "all.lance"), inspect.Options{Version: version})
		if !errors.Is(err, dataset.ErrNoVersion) {
			t.Errorf("version %d: got %v, want ErrNoVersion", version, err)
		}
	}
}

// copyOf returns the objects of a fixture in memory.
func copyOf(t testing.TB, name string) map[string][]byte {
	t.Helper()
	objects := map[string][]byte{}
	root := os.DirFS("testdata")
	matches, err := filepath.Glob(filepath.Join("testdata", name, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range matches {
		key, _ := strings.CutPrefix(filepath.ToSlash(path), "testdata/")
		file, err := root.Open(key)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := file.Stat(); err == nil && !info.IsDir() {
			if objects[key], err = os.ReadFile(path); err != nil {
				t.Fatal(err)
			}
		}
		_ = file.Close()
	}
	return objects
}

func inMemory(t testing.TB, name string, objects map[string][]byte) objectstore.Location {
	t.Helper()
	store := memstore.New()
	for key, data := range objects {
		if _, err := store.Put(context.Background(), key, data, objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	return objectstore.Location{URI: "memory://" + name, Store: store, Prefix: name}
}

func TestDamageIsToldInItsPlace(t *testing.T) {
	objects := copyOf(t, "all.lance")
	damaged := 0
	for key := range objects {
		switch {
		case strings.Contains(key, "/data/") && damaged == 0:
			objects[key] = []byte("this is no data file at all, but it is longer than a footer")
			damaged++
		case strings.Contains(key, "/data/") && damaged == 1:
			delete(objects, key)
			damaged++
		case strings.HasSuffix(key, "/18446744073709551614.manifest"):
			objects[key] = []byte("neither a manifest")
		}
	}
	report := look(t, inMemory(t, "all.lance", objects), inspect.Options{Versions: -1})
	if report.Versions[7].Error == "" {
		t.Error("version 1 has no error")
	}
	got := text(t, report)
	if n := strings.Count(got, "ERROR: "); n < 2 {
		t.Errorf("got %d errors, want at least 2:\n%s", n, got)
	}
	if !strings.Contains(got, "Delete") || !strings.Contains(got, "column ") {
		t.Errorf("what is whole is missing:\n%s", got)
	}
}

// FuzzTable changes one byte, or cuts the end, of one object: whatever comes out, it is a
// report or an error, and text that a terminal can stand.
func FuzzTable(f *testing.F) {
	objects := copyOf(f, "all.lance")
	keys := slices.Sorted(maps.Keys(objects))
	random := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		f.Add(random.Uint32(), random.Uint32(), byte(random.Uint32()))
	}
	f.Fuzz(func(t *testing.T, object, position uint32, value byte) {
		key := keys[int(object)%len(keys)]
		original := objects[key]
		defer func() { objects[key] = original }()
		changed := append([]byte(nil), original...)
		if at := int(position) % (len(changed) + 1); at == len(changed) || position%7 == 0 {
			changed = changed[:at]
		} else {
			changed[at] = value
		}
		objects[key] = changed
		report, err := inspect.Table(t.Context(), inMemory(t, "all.lance", objects), inspect.Options{Versions: -1})
		if err != nil {
			return
		}
		if _, err := json.Marshal(report); err != nil {
			t.Errorf("JSON: %v", err)
		}
		for _, r := range text(t, report) {
			if r < ' ' && r != '\n' {
				t.Fatalf("the text holds %q", r)
			}
		}
	})
}
