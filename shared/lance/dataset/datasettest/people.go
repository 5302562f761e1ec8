// Package datasettest creates and checks rows of tables in tests.
package datasettest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
)

// People is the schema of the test rows: a number, a nullable string and a vector.
var People = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "v", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32), Nullable: true},
}, nil)

// BatchesOf returns rows with the given ids, in batches of at most 100. Every seventh name is null.
func BatchesOf(ids ...int64) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for part := range slices.Chunk(ids, 100) {
			if !yield(batchOf(part), nil) {
				return
			}
		}
	}
}

func batchOf(ids []int64) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, People)
	for _, id := range ids {
		b.Field(0).(*array.Int64Builder).Append(id)
		if id%7 == 0 {
			b.Field(1).AppendNull()
		} else {
			b.Field(1).(*array.StringBuilder).Append(nameOf(id))
		}
		list := b.Field(2).(*array.FixedSizeListBuilder)
		list.Append(true)
		list.ValueBuilder().(*array.Float32Builder).AppendValues([]float32{float32(id), -float32(id)}, nil)
	}
	return b.NewRecordBatch()
}

func nameOf(id int64) string { return fmt.Sprintf("name %d", id) }

// UpTo returns the numbers [0, n).
func UpTo(n int64) []int64 {
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = int64(i)
	}
	return ids
}

// A scanner is a version of a table.
type scanner interface {
	Scan(ctx context.Context, opts snapshot.ScanOptions) (*arrow.Schema, iter.Seq2[arrow.RecordBatch, error], error)
}

// IDsOf returns the ids of a scan. It fails the test if another column does not match its id.
func IDsOf(t Fataler, d scanner, opts snapshot.ScanOptions) []int64 {
	t.Helper()
	_, batches, err := d.Scan(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	ids := []int64{}
	for batch, err := range batches {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, CheckRows(t, batch)...)
	}
	return ids
}

// CheckRows returns the ids of a batch. It fails the test if another column does not match its id.
func CheckRows(t Fataler, batch arrow.RecordBatch) []int64 {
	t.Helper()
	ids := batch.Column(batch.Schema().FieldIndices("id")[0]).(*array.Int64).Int64Values()
	if at := batch.Schema().FieldIndices("name"); len(at) > 0 {
		names := batch.Column(at[0]).(*array.String)
		for i, id := range ids {
			if names.IsNull(i) != (id%7 == 0) || (id%7 != 0 && names.Value(i) != nameOf(id)) {
				t.Fatalf("row of id %d has name %q (null: %v)", id, names.Value(i), names.IsNull(i))
			}
		}
	}
	return slices.Clone(ids)
}

// WhereID filters rows by id.
func WhereID(keep func(id int64) bool) *snapshot.Where {
	return &snapshot.Where{Columns: []string{"id"}, Select: func(_ context.Context, batch arrow.RecordBatch, among []uint64) ([]int32, error) {
		var rows []int32
		for i, id := range batch.Column(0).(*array.Int64).Int64Values() {
			if keep(id) && (among == nil || among[i/64]>>(i%64)&1 == 1) {
				rows = append(rows, int32(i))
			}
		}
		return rows, nil
	}}
}

// Multiples keeps the rows whose id is a multiple of n.
func Multiples(n int64) *snapshot.Where {
	return WhereID(func(id int64) bool { return id%n == 0 })
}

// A Fataler is the part of testing.TB that the helpers need; property tests implement it too.
type Fataler interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// AddressesOf returns the addresses of the rows that pass a filter.
func AddressesOf(t Fataler, d scanner, where *snapshot.Where) []uint64 {
	t.Helper()
	_, batches, err := d.Scan(context.Background(), snapshot.ScanOptions{Columns: []string{snapshot.RowAddr}, Where: where})
	if err != nil {
		t.Fatal(err)
	}
	var addresses []uint64
	for batch, err := range batches {
		if err != nil {
			t.Fatal(err)
		}
		addresses = append(addresses, batch.Column(0).(*array.Uint64).Uint64Values()...)
	}
	return addresses
}

// A NearStore has the read gap of a local directory.
type NearStore struct{ objectstore.Store }

// ReadGap returns 4 KiB, the gap of a local directory.
func (NearStore) ReadGap() int64 { return 4 << 10 }

// Far adds a millisecond of latency to each request, so that a test in a synctest bubble can count
// round trips.
func Far(s objectstore.Store) objectstore.Store {
	return faultstore.New(s, faultstore.Latency(time.Millisecond))
}
