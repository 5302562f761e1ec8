// Package indextest supports tests of index readers: segments written by native Lance, random questions,
// and a reference implementation of the matching rows.
package indextest

import (
	"archive/zip"
	"context"
	"io"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/index"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// A Folder is a segment in a folder of a store. It has no cache, unless Kept is set.
type Folder struct {
	Store  objectstore.Store
	Prefix string
	Kept   *Kept
}

// Kept is an unlimited cache, for tests of readers that behave by the capacity of a cache. It is safe for concurrent use.
type Kept struct {
	Bytes  int64 // the capacity that the readers are told
	Values map[string]any

	mu sync.Mutex // of Values
}

func (k *Kept) get(name string) any {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.Values[name]
}

func (k *Kept) put(name string, value any) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.Values[name] = value
}

// Open opens a file of the segment.
func (f Folder) Open(ctx context.Context, name string) (*datafile.File, error) {
	return datafile.Open(ctx, f.Store, f.Prefix+"/"+name, 0, nil)
}

// Names returns the names of the files of the segment.
func (f Folder) Names() (names []string) {
	page, err := f.Store.List(context.Background(), objectstore.ListOptions{Prefix: f.Prefix + "/"})
	if err != nil {
		panic(err)
	}
	for _, object := range page.Objects {
		names = append(names, path.Base(object.Key))
	}
	return names
}

// Keep caches in Kept, or nothing: it then calls read each time.
func (f Folder) Keep(name string, read func() (any, int64, error)) (any, error) {
	if f.Kept != nil {
		if kept := f.Kept.get(name); kept != nil {
			return kept, nil
		}
	}
	value, _, err := read()
	if f.Kept != nil && err == nil {
		f.Kept.put(name, value)
	}
	return value, err
}

// CacheBytes returns the capacity of Kept.
func (f Folder) CacheBytes() int64 {
	if f.Kept == nil {
		return 0
	}
	return f.Kept.Bytes
}

// Type returns the type of a column in a file of the segment.
func (f Folder) Type(t testing.TB, name, column string) arrow.DataType {
	t.Helper()
	file, err := f.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := file.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s.Field(column).Type
}

// Segments returns the segments in testdata/native.zip that contain a file with a name. files holds the
// bytes of all index files by path.
func Segments(t testing.TB, name string) (found []Folder, files map[string][]byte) {
	t.Helper()
	archive, err := zip.OpenReader("testdata/native.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	store := memstore.New()
	files = map[string][]byte{}
	for _, f := range archive.File {
		if !strings.Contains(f.Name, "/_indices/") {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if files[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		put(t, store, f.Name, files[f.Name])
		if path.Base(f.Name) == name {
			found = append(found, Folder{Store: store, Prefix: path.Dir(f.Name)})
		}
	}
	return found, files
}

// FolderOf returns a segment of some files, by their names.
func FolderOf(t testing.TB, files map[string][]byte) Folder {
	t.Helper()
	store := memstore.New()
	for name, file := range files {
		put(t, store, "x/"+name, file)
	}
	return Folder{Store: store, Prefix: "x"}
}

func put(t testing.TB, store objectstore.Store, key string, data []byte) {
	t.Helper()
	if _, err := store.Put(t.Context(), key, data, objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
}

// Bounded returns a context with as much memory as a hostile file may take.
func Bounded(t testing.TB) context.Context {
	share := memory.NewBudget(64<<20, 64<<20).Open()
	t.Cleanup(share.Close)
	return memory.WithShare(t.Context(), share)
}

// RandomQuestion returns a question with random ranges between elements of values, and sometimes NULL.
func RandomQuestion(random *rand.Rand, values arrow.Array) index.Question {
	bound := func() index.Bound {
		i := random.IntN(values.Len())
		if values.IsNull(i) {
			return index.Bound{}
		}
		return index.Bound{Value: array.NewSlice(values, int64(i), int64(i)+1), Excluded: random.IntN(2) == 0}
	}
	order, _ := index.OrderOf(values.DataType())
	q := index.Question{Ranges: []index.Range{{From: bound(), To: bound()}}, Null: random.IntN(4) == 0}
	switch from := q.Ranges[0].From.Value; {
	case random.IntN(3) == 0 && from != nil:
		null := q.Null
		q = index.Equal(from, order)
		q.Null = null
	case random.IntN(4) == 0 && from != nil:
		q = index.Equal(from, order).Not()
	}
	return q
}

// Matches reports whether a question matches a value.
func Matches(values arrow.Array, i int, q index.Question, order index.Order) bool {
	if values.IsNull(i) {
		return q.Null
	}
	return slices.ContainsFunc(q.Ranges, func(r index.Range) bool { return isWithin(values, i, r, order) })
}

func isWithin(values arrow.Array, i int, r index.Range, order index.Order) bool {
	if r.From.Value != nil {
		if c := order(values, i, r.From.Value, 0); c < 0 || c == 0 && r.From.Excluded {
			return false
		}
	}
	if r.To.Value != nil {
		if c := order(values, i, r.To.Value, 0); c > 0 || c == 0 && r.To.Excluded {
			return false
		}
	}
	return true
}

// Distinct returns ids in their order, each once.
func Distinct(ids []uint64) []uint64 {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
}
