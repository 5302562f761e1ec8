package snapshot_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// wideTable creates a table of n rows, rowsPerFragment per fragment, and returns a new view of it
// with a recorder of its reads.
func wideTable(t testing.TB, store objectstore.Store, n, rowsPerFragment int64) (*dataset.Dataset, *faultstore.Recorder) {
	t.Helper()
	for from := int64(0); from < n; from += rowsPerFragment {
		table := tableIn(store)
		ids := make([]int64, min(rowsPerFragment, n-from))
		for i := range ids {
			ids[i] = from + int64(i)
		}
		write := table.Append
		if from == 0 {
			write = table.Create
		}
		if _, err := write(context.Background(), rowsOf(ids...)); err != nil {
			t.Fatal(err)
		}
	}
	counted := faultstore.New(store, nil)
	d, err := tableIn(counted).Latest(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	counted.Recorder.Reset()
	return d, counted.Recorder
}

// A take of scattered rows makes a fixed number of requests: for each of three files the tail, the
// chunk index, and the chunks.
func TestTakeReadsLittle(t *testing.T) {
	store := datasettest.Far(datasettest.NearStore{Store: memstore.New()})
	random := rand.New(rand.NewPCG(5, 6))
	addresses := make([]uint64, 100)
	for i := range addresses {
		addresses[i] = uint64(random.IntN(3))<<32 | uint64(random.IntN(100_000))
	}
	synctest.Test(t, func(t *testing.T) {
		d, recorder := wideTable(t, store, 300_000, 100_000)
		for _, want := range []struct {
			name                  string
			requests, depth, read int
		}{
			{"cold", 50, 3, 260_000},
			{"warm", 43, 1, 240_000},
		} {
			recorder.Reset()
			batch, err := d.Take(t.Context(), []string{"id"}, addresses)
			if err != nil {
				t.Fatal(err)
			}
			for i, id := range batch.Column(0).(*array.Int64).Int64Values() {
				if at := addresses[i]; id != int64(at>>32)*100_000+int64(uint32(at)) {
					t.Fatalf("row at %d has id %d", at, id)
				}
			}
			got := recorder.Snapshot()
			if got.Requests > want.requests || got.Depth > want.depth || int(got.ReadBytes) > want.read {
				t.Errorf("%s take: %d requests, %d deep, of %d bytes, want at most %d, %d, %d",
					want.name, got.Requests, got.Depth, got.ReadBytes, want.requests, want.depth, want.read)
			}
		}
	})
}

// A take of one row reads one chunk of each column, in one round.
func TestWarmTakeOfOneRowIsOneRound(t *testing.T) {
	store := datasettest.Far(memstore.New())
	synctest.Test(t, func(t *testing.T) {
		d, recorder := wideTable(t, store, 50_000, 50_000)
		for range 2 {
			recorder.Reset()
			if _, err := d.Take(t.Context(), nil, []uint64{12_345}); err != nil {
				t.Fatal(err)
			}
		}
		if got := recorder.Snapshot(); got.Depth != 1 || got.Requests > 3 {
			t.Errorf("got %d requests, %d deep, want at most 3, 1 deep", got.Requests, got.Depth)
		}
	})
}

// The memory of a scan does not grow with the table. It has, for each window read ahead, the stored
// bytes and the decoded values, and the window of the consumer.
func TestScanHoldsLittle(t *testing.T) {
	if testing.Short() {
		t.Skip("makes tables of 120 and 240 MB")
	}
	t.Run("near", func(t *testing.T) { scanHolds(t, datasettest.NearStore{Store: memstore.New()}, 250_000, 96<<20) })
	t.Run("far", func(t *testing.T) { scanHolds(t, memstore.New(), 500_000, 160<<20) })
}

func scanHolds(t *testing.T, store objectstore.Store, rows, bound int64) {
	t.Helper()
	const bytesPerRow = 500
	schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: &arrow.FixedSizeBinaryType{ByteWidth: bytesPerRow}}}, nil)
	batches := func(yield func(arrow.RecordBatch, error) bool) {
		for range rows / 10_000 {
			b := array.NewFixedSizeBinaryBuilder(memory.DefaultAllocator, &arrow.FixedSizeBinaryType{ByteWidth: bytesPerRow})
			value := make([]byte, bytesPerRow)
			for i := range 10_000 {
				value[0], value[1] = byte(i), byte(i>>8)
				b.Append(value)
			}
			if !yield(array.NewRecordBatch(schema, []arrow.Array{b.NewArray()}, 10_000), nil) {
				return
			}
		}
	}
	at := objectstore.Location{URI: "memory://test/t.lance", Store: store, Prefix: "t.lance"}
	if _, err := dataset.NewSession(8<<20, time.Now).Table(at, 0).Create(t.Context(), dataset.Rows{Schema: schema, Batches: batches}); err != nil {
		t.Fatal(err)
	}
	d, err := dataset.NewSession(8<<20, time.Now).Table(at, 0).Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := liveBytes()
	_, scanned, err := d.Scan(t.Context(), snapshot.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	seen, peak := int64(0), uint64(0)
	for batch, err := range scanned {
		if err != nil {
			t.Fatal(err)
		}
		if seen += batch.NumRows(); seen%(rows/8) < batch.NumRows() {
			peak = max(peak, liveBytes())
		}
	}
	if seen != rows {
		t.Errorf("got %d rows, want %d", seen, rows)
	}
	if held := int64(peak) - int64(before); held > bound {
		t.Errorf("a scan of %d MB holds %d MB, want at most %d", rows*bytesPerRow>>20, held>>20, bound>>20)
	}
}

func liveBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
