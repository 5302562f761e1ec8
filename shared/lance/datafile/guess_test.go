package datafile

import (
	"math/rand/v2"
	"slices"
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

// A few rows of a large page of even density are read in one round, although the page is not known. Where the density
// differs, a second round reads what the first has not.
func TestRowsOfAnUnknownPageAreGuessed(t *testing.T) {
	const rows = 400_000
	random := rand.New(rand.NewPCG(1, 2))
	even, uneven := array.NewInt64Builder(memory.DefaultAllocator), array.NewInt64Builder(memory.DefaultAllocator)
	for i := range int64(rows) {
		even.Append(random.Int64N(1 << 40))
		if i < rows/2 {
			uneven.Append(i % 2)
		} else {
			uneven.Append(random.Int64N(1 << 40))
		}
	}
	as := arrow.NewSchema([]arrow.Field{{Name: "even", Type: arrow.PrimitiveTypes.Int64}, {Name: "uneven", Type: arrow.PrimitiveTypes.Int64}}, nil)
	batch := array.NewRecordBatch(as, []arrow.Array{even.NewArray(), uneven.NewArray()}, rows)
	data, _ := writeFile(t, as, lance.V2_1, batch)
	plain := memstore.New()
	if _, err := plain.Put(t.Context(), "f.lance", data, objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	store := faultstore.New(plain, nil)
	for _, c := range []struct {
		column, depth int
		rows          []int64
		bytes         int64
	}{
		{0, 1, []int64{200_000}, 128 << 10},
		{0, 1, []int64{5, 399_999}, 192 << 10},
		{0, 1, []int64{1, 2, 3, 4, 5, 6}, 192 << 10},
		{1, 2, []int64{100_000, 399_000}, 256 << 10},
		{0, 2, []int64{1e4, 3e4, 5e4, 7e4, 9e4, 11e4, 13e4, 15e4, 17e4}, 256 << 10}, // too many guesses
	} {
		f, err := Open(t.Context(), store, "f.lance", int64(len(data)), nil)
		if err != nil {
			t.Fatal(err)
		}
		all, err := f.Schema(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		fields := []*schema.Field{all.Fields[c.column]}
		store.Recorder.Reset()
		got, err := f.Take(t.Context(), fields, c.rows)
		if err != nil {
			t.Fatal(err)
		}
		counts := store.Recorder.Snapshot()
		for i, row := range c.rows {
			if d := diff(array.NewSlice(got[0], int64(i), int64(i)+1), array.NewSlice(batch.Column(c.column), row, row+1)); d != "" {
				t.Errorf("column %d, row %d: %s", c.column, row, d)
			}
		}
		if counts.Depth != c.depth || counts.ReadBytes > c.bytes {
			t.Errorf("column %d, rows %v: %d deep for %d bytes, want %d for at most %d: %v", c.column, c.rows, counts.Depth, counts.ReadBytes, c.depth, c.bytes, counts.Log)
		}
		store.Recorder.Reset()
		if _, err := f.Take(t.Context(), fields, slices.Clone(c.rows)); err != nil {
			t.Fatal(err)
		}
		if again := store.Recorder.Snapshot(); again.Depth != 1 || again.ReadBytes > int64(len(c.rows))*16<<10 {
			t.Errorf("column %d, rows %v, again: %d deep for %d bytes: %v", c.column, c.rows, again.Depth, again.ReadBytes, again.Log)
		}
	}
}
