package importing_test

import (
	"archive/zip"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/catalog"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/work/importing"
)

// unpack puts what native clients wrote into a store, below a prefix.
func unpack(t *testing.T, store objectstore.Store, folder, prefix string) {
	t.Helper()
	archive, err := zip.OpenReader("testdata/native.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	for _, file := range archive.File {
		name, ok := strings.CutPrefix(file.Name, folder+"/")
		if !ok {
			continue
		}
		r, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		put(t, store, prefix+name, string(data))
	}
}

func put(t *testing.T, store objectstore.Store, key, data string) {
	t.Helper()
	if _, err := store.Put(t.Context(), key, []byte(data), objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
}

// world is a catalog, and a place outside of its root.
type world struct {
	home, lake objectstore.Store
	roots      *objectstore.Roots
	names      *catalog.Catalog
}

func newWorld(t *testing.T) world {
	t.Helper()
	w := world{home: memstore.New(), lake: memstore.New()}
	var err error
	w.roots, err = objectstore.NewRoots(
		objectstore.Root{URI: "memory://home", Store: w.home}, objectstore.Root{URI: "memory://lake", Store: w.lake})
	if err != nil {
		t.Fatal(err)
	}
	w.names = catalog.Open(w.roots, time.Now)
	return w
}

// run imports and returns the results, a line for each.
func (w world) run(t *testing.T, place string, dryRun bool) []string {
	t.Helper()
	var lines []string
	err := importing.Run(t.Context(), importing.Options{Objects: w.roots, Now: time.Now, Place: place, DryRun: dryRun}, func(r importing.Result) {
		reason, _, _ := strings.Cut(r.Reason, ":")
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", r.Outcome, r.Kind, strings.Join(r.ID, "$"), reason)))
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func keys(t *testing.T, store objectstore.Store) []objectstore.Info {
	t.Helper()
	page, err := store.List(t.Context(), objectstore.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return page.Objects
}

// with says that something became of each of the things found.
func with(outcome importing.Outcome, found []string) []string {
	var lines []string
	for _, f := range found {
		lines = append(lines, string(outcome)+" "+f)
	}
	return lines
}

func TestImportTakesFoldersOfNativeClients(t *testing.T) {
	cases := []struct {
		folder string
		found  []string
	}{
		{"lancedb", []string{"table odd-name.x", "table people"}},
		{"dir", []string{"namespace a", "namespace a$b", "table top", "table a$declared", "table a$t", "table a$b$u"}},
	}
	places := []struct{ name, place, prefix string }{
		{"in the root", "memory://home", ""},
		{"below the root", "memory://home/some where", "some where/"},
		{"elsewhere", "memory://lake", ""},
		{"below elsewhere", "memory://lake/db/", "db/"},
	}
	for _, tc := range cases {
		for _, at := range places {
			t.Run(tc.folder+" "+at.name, func(t *testing.T) {
				w := newWorld(t)
				store := w.home
				if strings.Contains(at.place, "lake") {
					store = w.lake
				}
				unpack(t, store, tc.folder, at.prefix)
				place := strings.ReplaceAll(at.place, " ", "%20")
				before := keys(t, w.home)
				if diff := cmp.Diff(with(importing.Imported, tc.found), w.run(t, place, true)); diff != "" {
					t.Errorf("dry run (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(before, keys(t, w.home)); diff != "" {
					t.Errorf("the dry run has changed the root (-before +after):\n%s", diff)
				}
				if diff := cmp.Diff(with(importing.Imported, tc.found), w.run(t, place, false)); diff != "" {
					t.Errorf("first run (-want +got):\n%s", diff)
				}
				after := keys(t, w.home)
				if made := records(after) - records(before); made != len(tc.found) {
					t.Errorf("the first run has made %d records, want %d", made, len(tc.found))
				}
				if diff := cmp.Diff(with(importing.There, tc.found), w.run(t, place, false)); diff != "" {
					t.Errorf("second run (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(after, keys(t, w.home)); diff != "" {
					t.Errorf("the second run has changed the root (-before +after):\n%s", diff)
				}
			})
		}
	}
}

func TestImportedTablesAreWhereTheyWere(t *testing.T) {
	w := newWorld(t)
	unpack(t, w.lake, "dir", "db/")
	w.run(t, "memory://lake/db", false)
	table, err := w.names.Table(t.Context(), []string{"a", "t"})
	if err != nil || table.Location.Store != w.lake || !strings.HasPrefix(table.Location.Prefix, "db/") || table.Hint != 1 {
		t.Errorf("table = %+v, %v; want it in the lake, at version 1", table, err)
	}
	namespace, err := w.names.Namespaces.Get(t.Context(), []string{"a"})
	if err != nil || namespace.Properties["owner"] != "me" {
		t.Errorf("namespace = %+v, %v; want its properties", namespace, err)
	}
}

// Importing again after changes in the catalog does not undo them.
func TestRenamedTablesKeepTheirNames(t *testing.T) {
	w := newWorld(t)
	unpack(t, w.home, "lancedb", "")
	w.run(t, "memory://home", false)
	if _, err := w.names.RenameTable(t.Context(), []string{"people"}, []string{"persons"}); err != nil {
		t.Fatal(err)
	}
	want := []string{"there table odd-name.x", "there table persons"}
	if diff := cmp.Diff(want, w.run(t, "memory://home", false)); diff != "" {
		t.Errorf("run after a rename (-want +got):\n%s", diff)
	}
}

func TestImportSkipsFoldersThatItCannotTake(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	unpack(t, w.lake, "lancedb", "")
	put(t, w.lake, "empty.lance/data/x.lance", "x")
	put(t, w.lake, "broken.lance/_versions/1.manifest", "x")
	put(t, w.lake, "declared.lance/.lance-reserved", "")
	put(t, w.lake, "gone.lance/.lance-deregistered", "")
	put(t, w.lake, "a$b.lance/.lance-reserved", "")
	put(t, w.lake, "not a table/x", "")
	put(t, w.lake, "file.lance", "")
	taken := []string{"people"}
	if _, err := w.names.CreateTable(ctx, taken, w.names.Places.New(taken), 0, nil); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"skipped table a$b id component \"a$b\" contains \"$\"",
		"skipped table broken it cannot be opened",
		"imported table declared",
		"skipped table empty its folder holds no version of a Lance table",
		"skipped table gone it was deregistered by the directory namespace that it belonged to",
		"imported table odd-name.x",
		"skipped table people the name stands for the table at memory",
	}
	if diff := cmp.Diff(want, w.run(t, "memory://lake", false)); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
}

// Folders that the catalog has made itself are not taken for others'.
func TestForgottenTablesOfOursStayForgotten(t *testing.T) {
	w := newWorld(t)
	id := []string{"t"}
	at := w.names.Places.New(id)
	unpack(t, w.home, "lancedb/people.lance", at.Prefix+"/")
	if _, err := w.names.CreateTable(t.Context(), id, at, 1, nil); err != nil {
		t.Fatal(err)
	}
	if got := w.run(t, "memory://home", false); !cmp.Equal(got, []string{"there table t"}) {
		t.Errorf("run over a table of ours: %q", got)
	}
	if _, err := w.names.DeregisterTable(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	got := w.run(t, "memory://home", false)
	if len(got) != 1 || !strings.HasPrefix(got[0], "skipped table t-") {
		t.Errorf("run over a table that was deregistered: %q", got)
	}
}

func TestPlacesOutsideOfTheRootsAreRefused(t *testing.T) {
	w := newWorld(t)
	for _, place := range []string{"memory://elsewhere", "/tmp", "memory://home/../x", ""} {
		err := importing.Run(t.Context(), importing.Options{Objects: w.roots, Now: time.Now, Place: place}, func(importing.Result) {})
		if err == nil {
			t.Errorf("%q is accepted", place)
		}
	}
}

// records counts the names among keys.
func records(keys []objectstore.Info) (n int) {
	for _, object := range keys {
		if strings.HasPrefix(object.Key, "_catalog/") {
			n++
		}
	}
	return n
}
