package snapshot_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/storage/objectstore/diskstore"
)

// Scans at once of storage that is near are in work on one window each when these keep the
// processors busy; a single one is in work on several.
func TestScansAtOnceDoNotCrowd(t *testing.T) {
	const scans = 30
	store, err := diskstore.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	made, err := tableIn(store).Create(t.Context(), texts(4000, 10<<10)) // five windows
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ scans, least, most int }{
		{1, 2, 4},
		{scans, scans, scans + snapshot.WindowsPerProcessor*runtime.GOMAXPROCS(0)},
	} {
		var working, all sync.WaitGroup
		var inWork atomic.Int32
		working.Add(c.least)
		goOn := make(chan struct{})
		for range c.scans {
			results, err := snapshot.Map(t.Context(), made.Dataset.Snapshot, snapshot.ScanOptions{}, func(context.Context, arrow.RecordBatch) (struct{}, error) {
				if int(inWork.Add(1)) <= c.least {
					working.Done()
				}
				<-goOn
				return struct{}{}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			all.Go(func() {
				for _, err := range results {
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		working.Wait()
		if got := made.Dataset.WindowsInWork(); got > c.most || got < c.least {
			t.Errorf("%d scans are in work on %d windows at once, want %d to %d", c.scans, got, c.least, c.most)
		}
		close(goOn)
		all.Wait()
	}
}

// texts returns rows of one text of the given size.
func texts(rows, bytes int) dataset.Rows {
	random := rand.NewChaCha8([32]byte{3})
	values := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
	for range rows {
		value := make([]byte, bytes)
		_, _ = random.Read(value) // never fails
		values.Append(value)
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "text", Type: arrow.BinaryTypes.Binary, Nullable: true}}, nil)
	batch := array.NewRecordBatch(schema, []arrow.Array{values.NewArray()}, int64(rows))
	return dataset.Rows{Schema: schema, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}
}
