package dataset_test

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/alter"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// inShare returns a context with a memory budget, and checks at the end that all of it was
// released.
func inShare(t *testing.T, bytes int64) context.Context {
	t.Helper()
	budget := memory.NewBudget(bytes, bytes)
	share := budget.Open()
	t.Cleanup(func() {
		if held := share.Held(); held != 0 {
			t.Errorf("%d bytes are held after all", held)
		}
		share.Close()
		if held := budget.Usage().Held; held != 0 {
			t.Errorf("the budget has %d bytes too few", held)
		}
	})
	return memory.WithShare(t.Context(), share)
}

// cold returns the version as a process opens it that has read nothing.
func cold(t testing.TB, d *dataset.Dataset) *dataset.Dataset {
	t.Helper()
	return coldIn(t, d, d.Table().Place().Home.Location.Store)
}

// coldIn is cold by way of another store.
func coldIn(t testing.TB, d *dataset.Dataset, store objectstore.Store) *dataset.Dataset {
	t.Helper()
	at := d.Table().Place().Home.Location
	at.Store = store
	opened, err := dataset.NewSession(1<<20, d.Now).Table(at, 0).Version(context.Background(), d.Version())
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

// tableOf makes a table of one batch.
func tableOf(t testing.TB, store objectstore.Store, batch arrow.RecordBatch) *dataset.Dataset {
	t.Helper()
	rows := dataset.Rows{Schema: batch.Schema(), Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}
	made, err := datasettest.TableIn(store).Create(context.Background(), rows)
	if err != nil {
		t.Fatal(err)
	}
	return made.Dataset
}

// texts creates a table of one text of the given size per row, the same in all rows or different in
// each.
func texts(t testing.TB, store objectstore.Store, rows, bytes int, same bool) *dataset.Dataset {
	t.Helper()
	random := rand.New(rand.NewPCG(1, uint64(rows)))
	names := array.NewStringBuilder(arrowmemory.DefaultAllocator)
	one := strings.Repeat("x", bytes)
	for range rows {
		if !same {
			b := make([]byte, bytes)
			for i := range b {
				b[i] = byte('a' + random.IntN(26))
			}
			one = string(b)
		}
		names.Append(one)
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "text", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
	batch := array.NewRecordBatch(schema, []arrow.Array{names.NewArray()}, int64(rows))
	return tableOf(t, store, batch)
}

func TestScanOfAnySizeFitsIntoASmallShare(t *testing.T) {
	shares := []int64{64 << 20, 4 << 20, 512 << 10}
	if testing.Short() {
		shares = shares[1:2]
	}
	d := texts(t, memstore.New(), 3000, 100<<10, true) // 300 MB of one value
	for _, share := range shares {
		ctx := inShare(t, share)
		_, batches, err := cold(t, d).Scan(ctx, snapshot.ScanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		rows := int64(0)
		for batch, err := range batches {
			if err != nil {
				t.Fatalf("a share of %d: %v", share, err)
			}
			rows += batch.NumRows()
		}
		if rows != 3000 {
			t.Errorf("a share of %d: %d rows, want 3000", share, rows)
		}
		if peak := memory.FromContext(ctx).Peak(); peak > share {
			t.Errorf("a share of %d held %d", share, peak)
		}
	}
}

// A scan's real memory does not exceed its charge.
func TestScanHoldsNoMoreThanItCounts(t *testing.T) {
	d := texts(t, memstore.New(), 3000, 100<<10, true)
	ctx := inShare(t, 32<<20)
	heap := heapBytes()
	_, batches, err := cold(t, d).Scan(ctx, snapshot.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for batch, err := range batches {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n%20 == 0 {
			if grown := heapBytes() - heap; grown > 40<<20 {
				t.Fatalf("the heap has grown by %d after %d batches", grown, n)
			}
		}
		runtime.KeepAlive(batch)
	}
}

func heapBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Scans whose consumers stop asking keep the memory of their results, and later scans get the error
// that others use it.
func TestReadersWhoDoNotRead(t *testing.T) {
	d := texts(t, memstore.New(), 2000, 20<<10, false)
	budget := memory.NewBudget(64<<20, 48<<20)
	heap := heapBytes()
	var stops []func()
	waiting := 0
	for i := range 50 {
		share := budget.Open()
		patience := 50 * time.Millisecond
		if i == 0 {
			patience = time.Minute
		}
		ctx, cancel := context.WithTimeout(memory.WithShare(t.Context(), share), patience)
		stops = append(stops, share.Close, cancel)
		_, batches, err := cold(t, d).Scan(ctx, snapshot.ScanOptions{})
		if i > 0 && errors.Is(err, context.DeadlineExceeded) {
			waiting++ // a busy machine is slow to open the files
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		next, stop := iter.Pull2(batches)
		if _, err, _ := next(); err != nil {
			waiting++
		}
		stops = append(stops, stop)
	}
	if held := budget.Usage().Held; held > 64<<20 || held == 0 || waiting == 0 {
		t.Errorf("50 readers hold %d, and %d of them got nothing", held, waiting)
	}
	if grown := heapBytes() - heap; grown > 80<<20 {
		t.Errorf("50 readers hold %d bytes of the heap", grown)
	}
	for _, stop := range slices.Backward(stops) {
		stop()
	}
	if held := budget.Usage().Held; held != 0 {
		t.Errorf("%d bytes are held after all", held)
	}
}

func TestScanRefusesARowThatDoesNotFitByName(t *testing.T) {
	d := texts(t, memstore.New(), 4, 3<<20, false)
	ctx := inShare(t, 2<<20)
	_, batches, err := cold(t, d).Scan(ctx, snapshot.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, err = range batches {
	}
	var refused *memory.Error
	if !errors.As(err, &refused) || refused.Busy || !strings.Contains(err.Error(), "column text") {
		t.Errorf("got %v, want a refusal that names the column", err)
	}
	for _, err := range cold(t, d).TakeEach(ctx, nil, []uint64{0, 1, 2}, 100) {
		if !errors.As(err, &refused) {
			t.Errorf("take: got %v, want a refusal", err)
		}
	}
}

// Nobody can make such columns here; a native writer can.
func TestColumnsOfHugeListsAreRefusedByName(t *testing.T) {
	plain := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	batch := array.NewRecordBatch(plain, []arrow.Array{take.Nulls(arrow.PrimitiveTypes.Int64, 10)}, 10)
	list := func(items int32) arrow.DataType { return arrow.FixedSizeListOf(items, arrow.PrimitiveTypes.Float32) }
	binary := func(bytes int32) arrow.DataType { return &arrow.FixedSizeBinaryType{ByteWidth: int(bytes)} }
	member := func(items int32) arrow.DataType {
		return arrow.StructOf(arrow.Field{Name: "m", Type: list(items), Nullable: true})
	}
	for _, of := range []func(int32) arrow.DataType{list, binary, member} {
		huge := of(2_000_000_000)
		added := alter.NewColumns{Schema: arrow.NewSchema([]arrow.Field{{Name: "huge", Type: of(4), Nullable: true}}, nil)}
		narrow, err := alter.AddColumns(t.Context(), tableOf(t, memstore.New(), batch), added)
		if err != nil {
			t.Fatal(err)
		}
		wider, err := dataset.OpenManifest(narrow.Table(), widened(narrow.Manifest()))
		if err != nil {
			t.Fatal(err)
		}
		for _, opts := range []snapshot.ScanOptions{{}, {Columns: []string{"huge"}}} {
			_, batches, err := wider.Scan(t.Context(), opts) // without a share
			if err == nil {
				for _, err = range batches {
				}
			}
			if !errors.Is(err, lance.ErrUnsupported) || !strings.Contains(err.Error(), "huge") {
				t.Errorf("%s: got %v, want a refusal that names the column", huge, err)
			}
		}
		if _, err := wider.Take(t.Context(), nil, []uint64{1}); !errors.Is(err, lance.ErrUnsupported) {
			t.Errorf("%s: take: got %v", huge, err)
		}
		_, batches, err := wider.Scan(t.Context(), snapshot.ScanOptions{Columns: []string{"id"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range batches {
			if err != nil {
				t.Errorf("%s: the other column: %v", huge, err)
			}
		}
	}
}

// widened returns the manifest with lists and binaries of length four changed to two billion.
func widened(m *manifest.Manifest) *manifest.Manifest {
	wide, fields := *m, *m.Schema
	fields.Fields = slices.Clone(fields.Fields)
	for i, f := range fields.Fields {
		fields.Fields[i] = widenedField(f)
	}
	wide.Schema = &fields
	return &wide
}

func widenedField(f *schema.Field) *schema.Field {
	wide := *f
	wide.LogicalType = strings.Replace(f.LogicalType, ":4", ":2000000000", 1)
	wide.Children = slices.Clone(f.Children)
	for i, child := range f.Children {
		wide.Children[i] = widenedField(child)
	}
	switch f.Type.(type) {
	case *arrow.FixedSizeListType:
		wide.Type = arrow.FixedSizeListOf(2_000_000_000, arrow.PrimitiveTypes.Float32)
	case *arrow.FixedSizeBinaryType:
		wide.Type = &arrow.FixedSizeBinaryType{ByteWidth: 2_000_000_000}
	case *arrow.StructType:
		wide.Type = arrow.StructOf(wide.Children[0].Arrow())
	}
	return &wide
}

// After every read, whatever became of it, nothing is held.
func TestReadsHoldNothingAfterwards(t *testing.T) {
	store := memstore.New()
	d := texts(t, store, 4000, 4<<10, false)
	budget := memory.NewBudget(24<<20, 16<<20)
	random := rand.New(rand.NewPCG(7, 7))
	reads := 60
	if testing.Short() {
		reads = 12
	}
	for i := range reads {
		share := budget.Open()
		ctx, cancel := context.WithCancel(memory.WithShare(t.Context(), share))
		faulty := faultstore.New(store, nil)
		reading := coldIn(t, d, faulty)
		if left := random.IntN(20); left > 5 {
			faulty.Inject(func(faultstore.Call) (f faultstore.Fault) {
				if left--; left == 0 {
					f.Err = errors.New("a fault of the storage")
				}
				return f
			})
		}
		stopAfter := random.IntN(30)
		what := random.IntN(3)
		switch what {
		case 0:
			_, batches, err := reading.Scan(ctx, snapshot.ScanOptions{})
			if err != nil {
				break
			}
			for range batches { //nolint:errcheck // the outcome of the read is irrelevant
				if stopAfter--; stopAfter < 0 {
					break
				}
				if stopAfter == 3 {
					cancel()
				}
			}
		case 1:
			addresses := make([]uint64, 1+random.IntN(3000))
			for i := range addresses {
				addresses[i] = uint64(random.IntN(4000))
			}
			for range reading.TakeEach(ctx, nil, addresses, 4096) { //nolint:errcheck // as above
				if stopAfter--; stopAfter < 0 {
					break
				}
			}
		case 2:
			parts, err := snapshot.Map(ctx, reading.Snapshot, snapshot.ScanOptions{}, func(ctx context.Context, batch arrow.RecordBatch) (int64, error) {
				if stopAfter == 0 {
					return 0, errors.New("a fault of the caller")
				}
				return batch.NumRows(), memory.FromContext(ctx).Take(ctx, 1000)
			})
			if err != nil {
				break
			}
			for range parts { //nolint:errcheck // as above
				if stopAfter--; stopAfter < 0 {
					break
				}
			}
		}
		cancel()
		if held := share.Held(); held != 0 {
			t.Errorf("read %d of kind %d: %d bytes are held in the end", i, what, held)
		}
		share.Close()
	}
	if held := budget.Usage().Held; held != 0 {
		t.Errorf("%d bytes are held after all", held)
	}
}
