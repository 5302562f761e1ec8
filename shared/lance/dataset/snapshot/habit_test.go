package snapshot_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// vectorsOf returns rows of vectors with 32 elements; every seventh is NULL.
func vectorsOf(t *testing.T, n int) arrow.RecordBatch {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.FixedSizeListOf(32, arrow.PrimitiveTypes.Float32), Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	lists := b.Field(0).(*array.FixedSizeListBuilder)
	for row := range n {
		lists.Append(row%7 != 0)
		for i := range 32 {
			lists.ValueBuilder().(*array.Float32Builder).Append(float32(row*32 + i))
		}
	}
	return b.NewRecordBatch()
}

// Vectors that are taken one by one are read whole, once, when the takes have cost as much as that.
func TestVectorsThatAreOftenTakenAreKept(t *testing.T) {
	const rows, each = 20_000, 20
	inner := memstore.New()
	batch := vectorsOf(t, rows)
	if _, err := tableIn(inner).Create(t.Context(), dataset.Rows{Schema: batch.Schema(), Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}); err != nil {
		t.Fatal(err)
	}
	want := batch.Column(0).(*array.FixedSizeList)
	synctest.Test(t, func(t *testing.T) {
		counted := faultstore.New(datasettest.Far(inner), nil)
		d, err := tableIn(counted).Latest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(1, 2))
		var requests []int
		for range 8 {
			counted.Recorder.Reset()
			addresses := make([]uint64, each)
			for i := range addresses {
				addresses[i] = random.Uint64N(rows)
			}
			takeVectors(t, d, want, addresses)
			read := counted.Recorder.Snapshot()
			if len(requests) == 0 && read.ReadBytes > rows*128/2 {
				t.Errorf("the first take reads %d bytes", read.ReadBytes)
			}
			requests = append(requests, read.Requests)
		}
		last := requests[4:]
		if requests[0] < each/2 || slices.Max(last) > 0 {
			t.Errorf("takes of %d rows make %v requests, want none in the last ones", each, requests)
		}
	})
}

// takeVectors takes rows and compares them with the written ones.
func takeVectors(t *testing.T, d *dataset.Dataset, want *array.FixedSizeList, addresses []uint64) {
	t.Helper()
	batch, err := d.Take(t.Context(), []string{"v"}, addresses)
	if err != nil {
		t.Fatal(err)
	}
	for i, address := range addresses {
		if got, want := batch.Column(0).ValueStr(i), want.ValueStr(int(address)); got != want {
			t.Fatalf("row %d is %s, want %s", address, got, want)
		}
	}
}

// Numbers and strings are cached whole too, because index lookups return single values of them.
func TestNumbersAndTextsThatAreOftenTakenAreKept(t *testing.T) {
	const rows, each = 100_000, 50
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for row := range rows {
		b.Field(0).(*array.Int64Builder).Append(int64(row) * 7919)
		if row%7 == 0 {
			b.Field(1).AppendNull()
		} else {
			b.Field(1).(*array.StringBuilder).Append(strconv.Itoa(row))
		}
	}
	batch, inner := b.NewRecordBatch(), memstore.New()
	if _, err := tableIn(inner).Create(t.Context(), dataset.Rows{Schema: schema, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}); err != nil {
		t.Fatal(err)
	}
	counted := faultstore.New(inner, nil)
	d, err := tableIn(counted).Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	var requests []int
	for range 8 {
		counted.Recorder.Reset()
		addresses := make([]uint64, each)
		for i := range addresses {
			addresses[i] = random.Uint64N(rows)
		}
		got, err := d.Take(t.Context(), []string{"n", "s"}, addresses)
		if err != nil {
			t.Fatal(err)
		}
		for i, address := range addresses {
			for c := range 2 {
				if got, want := got.Column(c).ValueStr(i), batch.Column(c).ValueStr(int(address)); got != want {
					t.Fatalf("row %d is %s, want %s", address, got, want)
				}
			}
		}
		requests = append(requests, counted.Recorder.Snapshot().Requests)
	}
	if requests[0] == 0 || slices.Max(requests[4:]) > 0 {
		t.Errorf("takes of %d rows make %v requests, want none in the last ones", each, requests)
	}
}
