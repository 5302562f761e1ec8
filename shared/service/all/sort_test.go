package all_test

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/storage/objectstore/memstore"
)

// shuffledStream encodes n rows (id, x, 64-dimensional vector) whose x are in no order.
func shuffledStream(t *testing.T, n int) []byte {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "x", Type: arrow.PrimitiveTypes.Float64},
		{Name: "vector", Type: arrow.FixedSizeListOf(64, arrow.PrimitiveTypes.Float32)},
	}, nil)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	random := rand.New(rand.NewPCG(1, 2))
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := range n {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.Float64Builder).Append(random.Float64())
		v := b.Field(2).(*array.FixedSizeListBuilder)
		v.Append(true)
		for range 64 {
			v.ValueBuilder().(*array.Float32Builder).Append(random.Float32())
		}
		if i%20_000 == 19_999 || i == n-1 {
			if err := w.Write(b.NewRecordBatch()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A sort whose answer has all rows reads each part of the table once, whatever the order.
func TestSortOfAllRowsSendsAsManyRequestsAsAScan(t *testing.T) {
	rows := 400_000
	if testing.Short() {
		rows = 150_000 // still more than is sorted whole on a disk
	}
	const scan, sorted = `{"columns":["id","x","vector"]}`, `{"columns":["id","x","vector"],"order_by":[{"column_name":"x","ascending":false}]}`
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		start(t, store).call("/v1/table/t/create", shuffledStream(t, rows))
		for _, cache := range []uint64{0, littleCache} {
			scanned := startSmall(t, store, cache).call("/v1/table/t/query", []byte(scan))
			p := startSmall(t, store, cache)
			for range 2 {
				got := p.call("/v1/table/t/query", []byte(sorted))
				if got.Requests > scanned.Requests || got.Depth > 6 {
					t.Errorf("cache of %d bytes: %d requests, %d deep; want at most %d as the scan, 6 deep", cache, got.Requests, got.Depth, scanned.Requests)
				}
			}
		}
	})
}
