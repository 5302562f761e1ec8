package datafile

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// A scan reads few rows at a time if they are far larger decoded than stored. Its requests then
// depend on the stored bytes, also when several such windows are read in parallel, and each window
// has the right rows.
func TestSmallWindowsOfAScanShareRequests(t *testing.T) {
	const rows, window = 1 << 20, 512
	b := array.NewInt64Builder(memory.DefaultAllocator)
	random := rand.New(rand.NewPCG(1, 2))
	for range rows {
		b.Append(random.Int64N(1 << 40))
	}
	s := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	want := b.NewInt64Array()
	data, _ := writeFile(t, s, lance.V2_1, array.NewRecordBatch(s, []arrow.Array{want}, rows))
	store := faultstore.New(memstore.New(), nil)
	if _, err := store.Put(t.Context(), "f.lance", data, objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	f, err := Open(t.Context(), store, "f.lance", int64(len(data)), nil)
	if err != nil {
		t.Fatal(err)
	}
	fields, err := f.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	read := func(from int64) {
		got, err := f.ReadRange(t.Context(), fields.Fields, from, from+window)
		if err != nil {
			t.Error(err)
			return
		}
		if !array.Equal(got[0], array.NewSlice(want, from, from+window)) {
			t.Errorf("rows %d and after differ", from)
		}
	}
	store.Reset()
	const beside = 4
	for from := int64(0); from < rows; from += beside * window {
		var group sync.WaitGroup
		for i := range int64(beside) {
			group.Go(func() { read(from + i*window) })
		}
		group.Wait()
	}
	const worth = 3 // gaps between windows, and pages
	if got, most := store.Snapshot().Requests, worth*len(data)/objectstore.DefaultReadGap; got > most {
		t.Errorf("%d requests for %d bytes in %d windows, want at most %d", got, len(data), rows/window, most)
	}
	if got := f.trail.memBytes(); got > maxTrail*objectstore.DefaultReadGap {
		t.Errorf("%d bytes are kept", got)
	}

	store.Reset()
	for range 100 { // single rows are not a scan
		row := random.Int64N(rows)
		got, err := f.Take(t.Context(), fields.Fields, []int64{row})
		if err != nil || got[0].(*array.Int64).Value(0) != want.Value(int(row)) {
			t.Fatalf("row %d: got %v, %v", row, got, err)
		}
	}
	if got := store.Snapshot().ReadBytes; got > 100*16<<10 {
		t.Errorf("%d bytes were read for 100 single rows", got)
	}
}

// Dictionary rows take the memory of their indices and the dictionary, not of their decoded values.
func TestRowsOfADictionaryAreAsWideAsItsIndices(t *testing.T) {
	const rows, long = 100_000, 10_000
	b := array.NewDictionaryBuilder(memory.DefaultAllocator, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}).(*array.BinaryDictionaryBuilder)
	for i := range rows {
		if err := b.AppendString(strings.Repeat(string(rune('a'+i%7)), long)); err != nil {
			t.Fatal(err)
		}
	}
	a := b.NewDictionaryArray()
	s := arrow.NewSchema([]arrow.Field{{Name: "d", Type: a.DataType()}}, nil)
	for _, v := range []lance.Version{lance.V2_1, lance.V2_2} {
		data, _ := writeFile(t, s, v, array.NewRecordBatch(s, []arrow.Array{a}, rows))
		f, err := openBytes(data)
		if err != nil {
			t.Fatal(err)
		}
		fields, err := schema.FromArrow(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.BytesPerRow(fields.Fields); got < 4 || got > 40 {
			t.Errorf("%s: BytesPerRow = %.0f", v, got)
		}
	}
}
