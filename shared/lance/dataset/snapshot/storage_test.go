package snapshot_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/alter"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// manyFiles creates a table of n fragments; the first half has a column that was dropped later.
func manyFiles(t *testing.T, store *faultstore.Store, n int) {
	t.Helper()
	table := tableIn(store)
	if _, err := table.Create(t.Context(), rowsOf(0)); err != nil {
		t.Fatal(err)
	}
	for i := 1; i < n; i++ {
		if i == n/2 {
			d, err := table.Latest(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := alter.DropColumns(t.Context(), d, []string{"v"}); err != nil {
				t.Fatal(err)
			}
		}
		ids := make([]int64, 1+i%3)
		for j := range ids {
			ids[j] = int64(100*i + j)
		}
		rows := rowsOf(ids...)
		if i >= n/2 {
			rows = withoutLast(rows)
		}
		if _, err := table.Append(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
	}
}

// withoutLast returns the rows without their last column.
func withoutLast(rows dataset.Rows) dataset.Rows {
	all := rows.Batches
	last := rows.Schema.NumFields() - 1
	rows.Schema = arrow.NewSchema(rows.Schema.Fields()[:last], nil)
	schema := rows.Schema
	rows.Batches = func(yield func(arrow.RecordBatch, error) bool) {
		for batch, err := range all {
			if err != nil || !yield(array.NewRecordBatch(schema, batch.Columns()[:last], batch.NumRows()), nil) {
				return
			}
		}
	}
	return rows
}

func measured(t *testing.T, store *faultstore.Store, limit int) (snapshot.Storage, int) {
	t.Helper()
	d, err := tableIn(store).Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	store.Reset()
	found, err := d.Storage(t.Context(), limit)
	if err != nil {
		t.Fatal(err)
	}
	return found, store.Snapshot().Requests
}

func TestStorageOfColumnsIsReadOrEstimated(t *testing.T) {
	store := faultstore.New(memstore.New(), nil)
	manyFiles(t, store, 40)
	whole, requests := measured(t, store, 1000)
	if whole.Files != 40 || whole.Read != 40 || requests != 40 {
		t.Fatalf("got %+v by %d requests, want 40 files by as many", whole, requests)
	}
	sum := whole.Other
	for _, bytes := range whole.Columns {
		if bytes <= 0 {
			t.Errorf("got columns %v", whole.Columns)
		}
		sum += bytes
	}
	if sum != whole.Bytes {
		t.Errorf("columns and the rest have %d bytes of %d", sum, whole.Bytes)
	}
	for _, limit := range []int{1, 2, 7, 39} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			some, requests := measured(t, store, limit)
			if some.Read > limit || requests != some.Read || some.Files != 40 || some.Bytes != whole.Bytes {
				t.Errorf("got %+v by %d requests, want at most %d of the files of %+v", some, requests, limit, whole)
			}
			for i, bytes := range some.Columns {
				if limit > 2 && math.Abs(float64(bytes-whole.Columns[i])) > 0.3*float64(whole.Columns[i]) {
					t.Errorf("column %d has %d bytes, the estimate is %d", i, whole.Columns[i], bytes)
				}
			}
		})
	}
}

// The state for many files is charged to the request's memory budget.
func TestStorageTakesMemory(t *testing.T) {
	store := faultstore.New(memstore.New(), nil)
	manyFiles(t, store, 8)
	d, err := tableIn(store).Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	share := memory.NewBudget(64<<10, 64<<10).Open()
	defer share.Close()
	if _, err := d.Storage(memory.WithShare(t.Context(), share), 10); !memory.TooMuch(err) {
		t.Errorf("got %v, want a refusal", err)
	}
	if held := share.Held(); held != 0 {
		t.Errorf("%d bytes are held at the end", held)
	}
}
