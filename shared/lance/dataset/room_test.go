package dataset_test

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/diskstore"
)

// randomTexts returns a batch of rows with one random text of the given size.
func randomTexts(rows, bytes int) arrow.RecordBatch {
	random := rand.New(rand.NewPCG(3, uint64(rows)))
	texts := array.NewStringBuilder(arrowmemory.DefaultAllocator)
	for range rows {
		b := make([]byte, bytes)
		for i := range b {
			b[i] = byte('a' + random.IntN(26))
		}
		texts.Append(string(b))
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "text", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
	return array.NewRecordBatch(schema, []arrow.Array{texts.NewArray()}, int64(rows))
}

func diskStore(t *testing.T) objectstore.Store {
	t.Helper()
	store, err := diskstore.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// Writers that have not enough memory to fill pages make smaller ones: all of them go on, hold
// no more than there is, and store the same rows.
func TestWritersAtOnceHoldNoMoreThanTheyCount(t *testing.T) {
	const writers, batches, limit = 30, 7, 112 << 20 // enough for a batch of each
	batch := randomTexts(100, 10<<10)
	store := diskStore(t)
	table := datasettest.TableIn(store)
	if _, err := table.Create(t.Context(), dataset.Rows{Schema: batch.Schema(), Batches: func(func(arrow.RecordBatch, error) bool) {}}); err != nil {
		t.Fatal(err)
	}
	budget := memory.NewBudget(limit, limit/4*3)
	heap := heapBytes()
	var all sync.WaitGroup
	var rounds [batches + 1]sync.WaitGroup // all writers take a batch, then all the next one
	for i := range rounds {
		rounds[i].Add(writers)
	}
	goOn := make(chan struct{})
	for range writers {
		all.Go(func() {
			share := budget.Open()
			defer share.Close()
			rows := dataset.Rows{Schema: batch.Schema(), Batches: func(yield func(arrow.RecordBatch, error) bool) {
				for i := range batches {
					rounds[i].Done()
					rounds[i].Wait()
					if !yield(batch, nil) {
						break
					}
				}
				rounds[batches].Done()
				<-goOn
			}}
			if _, err := table.Append(memory.WithShare(t.Context(), share), rows); err != nil {
				t.Error(err)
			}
			if held := share.Held(); held != 0 {
				t.Errorf("%d bytes are held after all", held)
			}
		})
	}
	rounds[batches].Wait()
	if grown := heapBytes() - heap; grown > limit {
		t.Errorf("the heap has grown by %d while %d writers wait for rows, of which %d are counted", grown, writers, budget.Usage().Held)
	}
	close(goOn)
	all.Wait()
	d, err := table.Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := d.CountRows(); got != writers*batches*batch.NumRows() {
		t.Fatalf("the table has %d rows, want %d", got, writers*batches*batch.NumRows())
	}
	_, read, err := cold(t, d).Scan(t.Context(), snapshot.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	row := 0
	want := batch.Column(0).(*array.String)
	for found, err := range read {
		if err != nil {
			t.Fatal(err)
		}
		got := found.Column(0).(*array.String)
		for i := range got.Len() {
			if got.Value(i) != want.Value(row%want.Len()) {
				t.Fatalf("row %d is another text", row)
			}
			row++
		}
	}
}

// A row that takes more than a share has is refused, and nothing is held or stored.
func TestCreateRefusesARowThatNoWriterCanHold(t *testing.T) {
	batch := randomTexts(1, 4<<20)
	table := datasettest.TableIn(diskStore(t))
	rows := dataset.Rows{Schema: batch.Schema(), Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}
	if _, err := table.Create(inShare(t, 4<<20), rows); err == nil {
		t.Error("4 MiB were written in as many, without room for the page")
	}
	if _, err := table.Create(inShare(t, 64<<20), rows); err != nil {
		t.Error(err)
	}
}
