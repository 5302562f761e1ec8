package enginetest

import (
	"archive/zip"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// NativeTable copies a table in a folder, which native Lance has made, into memory and opens it.
func NativeTable(t testing.TB, root string, limits engine.Limits) *engine.Table {
	t.Helper()
	store := memstore.New()
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		_, err = store.Put(t.Context(), "t.lance/"+filepath.ToSlash(below), data, objectstore.Condition{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return Table(store, limits)
}

// Indexed holds tables that native Lance has made with indices of one kind, and its answers to filters.
type Indexed struct {
	Store objectstore.Store
	Keys  []string // of all files in the store
	Cases []IndexedCase
}

// An IndexedCase has the ids of the rows of a version of a table for which a filter is true, in ascending order.
type IndexedCase struct {
	Table   string
	Version int64
	Filter  string
	IDs     []int64
}

// OpenIndexed returns the tables in the test data of a package of indices, such as btree.
func OpenIndexed(t testing.TB, kind string) *Indexed {
	t.Helper()
	x := new(Indexed)
	x.Store, x.Keys = unpack(t, kind, &x.Cases)
	return x
}

// unpack copies the files of native.zip, in the test data of a package of indices, into a store, and decodes its cases.json
// into cases. It returns the names of all files.
func unpack(t testing.TB, kind string, cases any) (store *memstore.Store, names []string) {
	t.Helper()
	store = memstore.New()
	archive, err := zip.OpenReader(filepath.Join(shared(t), "index", kind, "testdata", "native.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, f.Name)
		if f.Name == "cases.json" {
			err = json.Unmarshal(data, cases)
		} else {
			_, err = store.Put(t.Context(), f.Name, data, objectstore.Condition{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return store, names
}

// shared returns the path of the folder shared. A test runs in the folder of its package, which is below it.
func shared(t testing.TB) string {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for filepath.Base(folder) != "shared" {
		parent := filepath.Dir(folder)
		if parent == folder {
			t.Fatal("the test does not run below the folder shared")
		}
		folder = parent
	}
	return folder
}

// Table opens a table. Its engine also reads indices of small tables, if a filter then reads at most the given share of
// their rows; for the share 0 it reads no index. logger may be nil.
func (x *Indexed) Table(name string, share float64, logger *slog.Logger) *engine.Table {
	limits := engine.Limits{IndexBytes: 1, IndexShare: share}
	if share == 0 {
		limits.IndexBytes = 1 << 60
	}
	return named(x.Store, name, limits, logger)
}

// named opens the table of a name in a store.
func named(store objectstore.Store, name string, limits engine.Limits, logger *slog.Logger) *engine.Table {
	e := engine.New(dataset.NewSession(64<<20, time.Now), limits)
	e.Logger = logger
	return e.Table([]string{name}, objectstore.Location{URI: "memory://test/" + name, Store: store, Prefix: name + ".lance"})
}

// IDs returns the ids of the rows of a version for which a filter is true, in ascending order.
func IDs(t testing.TB, table *engine.Table, version int64, filter string) []int64 {
	t.Helper()
	rows, err := table.Query(t.Context(), engine.AsOf{Version: &version}, &query.Query{Filter: filter, Columns: []query.Column{{Name: "id"}}})
	if err != nil {
		t.Fatalf("%s: %v", filter, err)
	}
	ids := []int64{}
	for batch, err := range rows.Batches {
		if err != nil {
			t.Fatalf("%s: %v", filter, err)
		}
		ids = append(ids, batch.Column(0).(*array.Int64).Int64Values()...)
	}
	slices.Sort(ids)
	return ids
}

// NoWarnings returns a logger that fails the test when it receives a message.
func NoWarnings(t testing.TB) *slog.Logger { return slog.New(failing{t}) }

// failing is the handler of [NoWarnings].
type failing struct{ t testing.TB }

func (f failing) Enabled(context.Context, slog.Level) bool { return true }
func (f failing) WithAttrs([]slog.Attr) slog.Handler       { return f }
func (f failing) WithGroup(string) slog.Handler            { return f }

func (f failing) Handle(_ context.Context, r slog.Record) error {
	var about []string
	r.Attrs(func(a slog.Attr) bool {
		about = append(about, a.String())
		return true
	})
	f.t.Errorf("the log received: %s: %v", r.Message, about)
	return nil
}
