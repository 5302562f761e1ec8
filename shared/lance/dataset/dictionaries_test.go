package dataset_test

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/alter"
	"tiltyard/shared/lance/dataset/branches"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/internal/dictionary"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

const wordTable = "legacy/dictionaries.lance"

// again opens a version as a process does that has never seen the table.
func again(t testing.TB, at objectstore.Location, d *dataset.Dataset) *dataset.Dataset {
	t.Helper()
	cold, err := dataset.NewSession(64<<20, time.Now).Table(at, 0).Version(t.Context(), d.Version())
	if err != nil {
		t.Fatal(err)
	}
	return cold
}

func sameWords(a, b *dataset.Dataset) bool {
	return maps.EqualFunc(a.Manifest().Dictionaries, b.Manifest().Dictionaries, dictionary.Equal)
}

// Each version has the dictionaries of its own columns, for any writer and reader: a restored
// version has its old ones, a branch those of its source.
func TestVersionsCarryTheDictionariesOfTheirColumns(t *testing.T) {
	n := openNative(t)
	at, err := n.roots.Resolve(wordTable)
	if err != nil {
		t.Fatal(err)
	}
	table := dataset.NewSession(64<<20, time.Now).Table(at, 0)
	first, err := table.Version(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	newest, err := table.Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(first.Manifest().Dictionaries) != 3 || len(newest.Manifest().Dictionaries) != 2 {
		t.Fatalf("%d and %d dictionaries, want 3 and 2", len(first.Manifest().Dictionaries), len(newest.Manifest().Dictionaries))
	}
	check := func(what string, got, like *dataset.Dataset, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if cold := again(t, at, got); !sameWords(cold, got) || !sameWords(cold, like) {
			t.Errorf("%s: got %v, and %v when it is read again, want %v", what, got.Manifest().Dictionaries, cold.Manifest().Dictionaries, like.Manifest().Dictionaries)
		}
	}
	dropped, err := alter.DropColumns(t.Context(), newest, []string{"x"})
	check("a column dropped", dropped, newest, err)
	shrunk, err := dropped.Delete(t.Context(), rowset.At(dropped.Manifest().Fragments[0].ID<<32|3), "")
	check("a row deleted", shrunk.Dataset, newest, err)
	restored, err := table.Restore(t.Context(), 1)
	check("restored", restored, first, err)
	sameBatch(t, "restored", scanAll(t, again(t, at, restored), snapshot.ScanOptions{}), scanAll(t, first, snapshot.ScanOptions{}))
	same := dataset.Rows{Schema: first.ArrowSchema(), Batches: func(yield func(arrow.RecordBatch, error) bool) {
		yield(scanAll(t, first, snapshot.ScanOptions{}), nil)
	}}
	grown, err := table.Append(t.Context(), same)
	check("the same rows again", grown.Dataset, first, err)
	if _, err := branches.Create(t.Context(), table, "c", "", grown.Dataset.Version()); err != nil {
		t.Fatal(err)
	}
	branch, err := branches.Open(t.Context(), dataset.NewSession(64<<20, time.Now).Table(at, 0), "c")
	if err != nil {
		t.Fatal(err)
	}
	if d, err := branch.Latest(t.Context()); err != nil || !sameWords(d, first) {
		t.Errorf("branched: %v", err)
	}
	if got, want := grown.Dataset.CountRows(), 2*first.CountRows(); got != want {
		t.Errorf("got %d rows, want %d", got, want)
	}
}

func wordRows(words ...string) dataset.Rows {
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	b := array.NewDictionaryBuilder(memory.DefaultAllocator, typ).(*array.BinaryDictionaryBuilder)
	for _, w := range words {
		if err := b.AppendString(w); err != nil {
			panic(err)
		}
	}
	column := b.NewArray()
	s := arrow.NewSchema([]arrow.Field{{Name: "word", Type: typ, Nullable: true}}, nil)
	return dataset.Rows{Schema: s, Batches: func(yield func(arrow.RecordBatch, error) bool) {
		for _, part := range []int64{0, 1} { // the slices share the dictionary
			rows := array.NewRecordBatch(s, []arrow.Array{column}, int64(len(words)))
			if !yield(rows.NewSlice(part, part+1), nil) {
				return
			}
		}
	}}
}

// A new table has the dictionary of its first rows, and a recreated one another. Rows prepared for
// the first do not become rows of the second.
func TestTablesThatAreWrittenAnewHaveOtherDictionaries(t *testing.T) {
	at := objectstore.Location{URI: "memory://test/t.lance", Store: memstore.New(), Prefix: "t.lance"}
	table := dataset.NewSession(64<<20, time.Now).Table(at, 0)
	made, err := table.CreateAs(t.Context(), wordRows("a", "b"), dataset.CreateOptions{Version: lance.Legacy})
	if err != nil {
		t.Fatal(err)
	}
	if cold := again(t, at, made.Dataset); !sameWords(cold, made.Dataset) || len(cold.Manifest().Dictionaries) != 1 {
		t.Errorf("got %v and %v", made.Dataset.Manifest().Dictionaries, cold.Manifest().Dictionaries)
	}
	anew, err := table.Overwrite(t.Context(), wordRows("b", "a"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if sameWords(made.Dataset, anew.Dataset) || dataset.SameColumns(made.Dataset, anew.Dataset) {
		t.Error("a table that was written anew has the same dictionary")
	}
	if _, err := table.Append(t.Context(), wordRows("a", "b")); !errors.Is(err, schema.ErrMismatch) {
		t.Errorf("got error %v", err)
	}
	grown, err := table.Append(t.Context(), wordRows("b", "a"))
	if err != nil {
		t.Fatal(err)
	}
	got := scanAll(t, again(t, at, grown.Dataset), snapshot.ScanOptions{}).Column(0).(*array.Dictionary)
	var words []string
	for i := range got.Len() {
		words = append(words, got.ValueStr(i))
	}
	if !slices.Equal(words, []string{"b", "a", "b", "a"}) {
		t.Errorf("got %v", words)
	}
}
