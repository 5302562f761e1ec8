package dataset_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"path"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/branches"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// nativePlace is where the tables were written that testdata/native.zip holds.
const nativePlace = "file:///tmp/tiltyard-fixtures/dataset"

// A nativeCase is native Lance's answer to a query of some columns.
type nativeCase struct {
	Name    string
	Table   string
	Version uint64
	Columns []string
}

// nativeTables is the content of testdata/native.zip and testdata/legacy.zip.
type nativeTables struct {
	roots *objectstore.Roots
	store objectstore.Store
	cases []nativeCase
}

func openNative(t testing.TB) *nativeTables {
	t.Helper()
	n := &nativeTables{store: memstore.New()}
	for _, name := range []string{"native.zip", "legacy.zip"} {
		n.unpack(t, "testdata/"+name)
	}
	var err error
	if n.roots, err = objectstore.NewRoots(objectstore.Root{URI: nativePlace, Store: n.store}); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"cases.json", "legacy/cases.json"} {
		var cases []nativeCase
		if err := json.Unmarshal(n.get(t, key), &cases); err != nil {
			t.Fatal(err)
		}
		n.cases = append(n.cases, cases...)
	}
	return n
}

// unpack puts the files of an archive into the store.
func (n *nativeTables) unpack(t testing.TB, path string) {
	t.Helper()
	archive, err := zip.OpenReader(path)
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
		if _, err := n.store.Put(t.Context(), f.Name, data, objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
}

func (n *nativeTables) get(t testing.TB, key string) []byte {
	t.Helper()
	data, _, err := n.store.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func (n *nativeTables) table(t testing.TB, name string) *dataset.Table {
	t.Helper()
	at, err := n.roots.Resolve(name)
	if err != nil {
		t.Fatal(err)
	}
	return dataset.NewSession(64<<20, time.Now).Table(at, 0)
}

func (n *nativeTables) open(t testing.TB, c nativeCase) *dataset.Dataset {
	t.Helper()
	d, err := n.table(t, c.Table).Version(t.Context(), c.Version)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// answer returns native Lance's answer as one batch.
func (n *nativeTables) answer(t testing.TB, name string) arrow.RecordBatch {
	t.Helper()
	folder, base := path.Split(name)
	r, err := ipc.NewFileReader(bytes.NewReader(n.get(t, folder+"answers/"+base+".arrow")))
	if err != nil {
		t.Fatal(err)
	}
	if r.NumRecords() != 1 {
		t.Fatalf("answer %s has %d batches, want 1", name, r.NumRecords())
	}
	batch, err := r.RecordBatch(0)
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

func scanAll(t testing.TB, d *dataset.Dataset, opts snapshot.ScanOptions) arrow.RecordBatch {
	t.Helper()
	schema, batches, err := d.Scan(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	var all []arrow.RecordBatch
	for batch, err := range batches {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, batch)
	}
	whole, err := take.Concat(schema, all)
	if err != nil {
		t.Fatal(err)
	}
	return whole
}

func short(a arrow.Array) string {
	text := a.String()
	return text[:min(len(text), 1000)]
}

// sameJSON compares arrays, ignoring values under nulls.
func sameJSON(t testing.TB, a, b arrow.Array) bool {
	t.Helper()
	left, err := a.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	right, err := b.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Equal(left, right)
}

// sameBatch compares names, types and values.
func sameBatch(t testing.TB, what string, got, want arrow.RecordBatch) {
	t.Helper()
	if got.NumRows() != want.NumRows() || got.NumCols() != want.NumCols() {
		t.Fatalf("%s: got %d rows of %d columns, want %d of %d", what, got.NumRows(), got.NumCols(), want.NumRows(), want.NumCols())
	}
	for i := range int(want.NumCols()) {
		g, w := got.Column(i), want.Column(i)
		if got.ColumnName(i) != want.ColumnName(i) || !arrow.TypeEqual(g.DataType(), w.DataType()) {
			t.Errorf("%s: column %d is %s %s, want %s %s", what, i, got.ColumnName(i), g.DataType(), want.ColumnName(i), w.DataType())
			continue
		}
		if !array.Equal(g, w) && !sameJSON(t, g, w) {
			t.Errorf("%s: column %s is\n%v, want\n%v", what, got.ColumnName(i), short(g), short(w))
		}
	}
}

func TestScanAnswersWhatNativeLanceDoes(t *testing.T) {
	n := openNative(t)
	for _, c := range n.cases {
		t.Run(c.Name, func(t *testing.T) {
			d := n.open(t, c)
			sameBatch(t, "scan", scanAll(t, d, snapshot.ScanOptions{Columns: c.Columns}), n.answer(t, c.Name))
			// A second time, from the cache.
			sameBatch(t, "second scan", scanAll(t, d, snapshot.ScanOptions{Columns: c.Columns}), n.answer(t, c.Name))
		})
	}
}

func TestFilteredScanAnswersTheSameRows(t *testing.T) {
	n := openNative(t)
	odd := datasettest.WhereID(func(id int64) bool { return id%2 == 1 })
	for _, c := range n.cases {
		if c.Columns != nil && !slices.Contains(c.Columns, "id") {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			answer := n.answer(t, c.Name)
			id := answer.Schema().FieldIndices("id")[0]
			rows, _ := odd.Select(t.Context(), array.NewRecordBatch(arrow.NewSchema([]arrow.Field{answer.Schema().Field(id)}, nil), []arrow.Array{answer.Column(id)}, answer.NumRows()), nil)
			want, err := take.Batch(answer, rows)
			if err != nil {
				t.Fatal(err)
			}
			sameBatch(t, "scan", scanAll(t, n.open(t, c), snapshot.ScanOptions{Columns: c.Columns, Where: odd}), want)
		})
	}
}

// Rows are taken by their addresses and by their ids, in any order and more than once.
func TestTakeAnswersTheRowsOfTheScan(t *testing.T) {
	n := openNative(t)
	for _, c := range n.cases {
		t.Run(c.Name, func(t *testing.T) {
			d := n.open(t, c)
			answer := n.answer(t, c.Name)
			keys := scanAll(t, d, snapshot.ScanOptions{Columns: []string{snapshot.RowAddr, snapshot.RowID}})
			random := rand.New(rand.NewPCG(1, 2))
			for range 5 {
				rows := make([]int32, random.IntN(20))
				addresses, ids := make([]uint64, len(rows)), make([]uint64, len(rows))
				for i := range rows {
					at := random.IntN(int(answer.NumRows()))
					rows[i] = int32(at)
					addresses[i] = keys.Column(0).(*array.Uint64).Value(at)
					ids[i] = keys.Column(1).(*array.Uint64).Value(at)
				}
				want, err := take.Batch(answer, rows)
				if err != nil {
					t.Fatal(err)
				}
				got, err := d.Take(t.Context(), c.Columns, addresses)
				if err != nil {
					t.Fatal(err)
				}
				sameBatch(t, "take by address", got, want)
				if got, err = d.TakeIDs(t.Context(), c.Columns, ids); err != nil {
					t.Fatal(err)
				}
				sameBatch(t, "take by id", got, want)
			}
		})
	}
}

func TestBlobsAreReadWholeAndInParts(t *testing.T) {
	n := openNative(t)
	for _, version := range []string{"2.0", "2.1", "2.2", "added"} {
		t.Run(version, func(t *testing.T) {
			d, err := n.table(t, "blobs_"+version+".lance").Latest(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			rows := scanAll(t, d, snapshot.ScanOptions{Columns: []string{"bytes", snapshot.RowAddr}})
			want := rows.Column(0).(*array.LargeBinary)
			addresses := rows.Column(1).(*array.Uint64).Uint64Values()
			whole, err := d.ReadBlobs(t.Context(), "blob", addresses)
			if err != nil {
				t.Fatal(err)
			}
			blobs, err := d.Blobs(t.Context(), "blob", addresses)
			if err != nil {
				t.Fatal(err)
			}
			for i, blob := range blobs {
				if blob.Null != want.IsNull(i) || (whole[i] == nil) != want.IsNull(i) || !bytes.Equal(whole[i], want.Value(i)) {
					t.Errorf("blob %d: got %d bytes, null %v; want %d, null %v", i, len(whole[i]), blob.Null, want.ValueLen(i), want.IsNull(i))
				}
				from := int64(want.ValueLen(i) / 3)
				part, err := blob.Read(t.Context(), from, from)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(part, want.Value(i)[from:2*from]) {
					t.Errorf("blob %d: bytes %d to %d differ", i, from, 2*from)
				}
				if _, err := blob.Read(t.Context(), 1, int64(want.ValueLen(i))); !errors.Is(err, objectstore.ErrInvalidRange) {
					t.Errorf("blob %d read past its end: got %v, want ErrInvalidRange", i, err)
				}
			}
		})
	}
}

// Files outside of the roots are not readable; the rest of the table is.
func TestFilesOutsideOfTheRootsAreNotRead(t *testing.T) {
	n := openNative(t)
	roots, err := objectstore.NewRoots(objectstore.Root{URI: nativePlace + "/clone.lance", Store: memstore.New()})
	if err != nil {
		t.Fatal(err)
	}
	for name, column := range map[string]string{"clone.lance": "id", "bases.lance": "id", "main.lance/tree/dev/one": "id", "blobs_2.2.lance": "blob"} {
		at, err := n.roots.Resolve(name)
		if err != nil {
			t.Fatal(err)
		}
		session := dataset.NewSession(0, time.Now)
		session.Roots = roots
		d, err := session.Table(at, 0).Latest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if column == "blob" {
			_, err = d.ReadBlobs(t.Context(), "blob", []uint64{6})
		} else {
			_, err = d.Take(t.Context(), []string{column}, []uint64{0})
		}
		if !errors.Is(err, objectstore.ErrLocation) {
			t.Errorf("%s: got %v, want ErrLocation", name, err)
		}
	}
}

func TestTagsAndBranchesOfNativeLanceAreRead(t *testing.T) {
	n := openNative(t)
	table := n.table(t, "main.lance")
	named, next, err := table.Refs().Tags(t.Context(), "", 0)
	if err != nil || next != "" {
		t.Fatalf("next %q, error %v", next, err)
	}
	versions := map[string]uint64{}
	for name, tag := range named {
		versions[name+" "+tag.BranchName()] = tag.Version
		if tag.Created == nil || tag.ManifestBytes == 0 {
			t.Errorf("tag %s: got %+v, want a time and a size", name, tag)
		}
	}
	if diff := cmp.Diff(map[string]uint64{"first ": 1, "on-branch dev/one": 4}, versions); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	for name, want := range map[string]int64{"first": 10, "on-branch": 11} {
		d, err := datasettest.Tagged(t.Context(), table, name)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.CountRows(); got != want {
			t.Errorf("version of tag %s: got %d rows, want %d", name, got, want)
		}
	}
	forked, _, err := table.Refs().Branches(t.Context(), "", 0)
	if err != nil {
		t.Fatal(err)
	}
	branch, ok := forked["dev/one"]
	if !ok || len(forked) != 1 {
		t.Fatalf("branches: got %v, want dev/one", forked)
	}
	if branch.Parent != nil || branch.ParentVersion != 2 || len(branch.Identifier.Forks) != 1 || branch.Identifier.Forks[0].Version != 2 {
		t.Errorf("branch: got %+v", branch)
	}
	on, err := branches.Open(t.Context(), table, "dev/one")
	if err != nil {
		t.Fatal(err)
	}
	latest, err := on.Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := latest.Version(), uint64(4); got != want {
		t.Errorf("latest of the branch: got version %d, want %d", got, want)
	}
}
