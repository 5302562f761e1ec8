package engine_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/merge"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/storage/objectstore/memstore"
)

// In a table with stable row ids a row keeps its id when it is updated, wherever the row
// that it is updated by stands among those that are added.
func TestMergedRowsKeepTheirStableIDs(t *testing.T) {
	ctx := t.Context()
	table := enginetest.Table(memstore.New(), engine.Limits{})
	first := enginetest.Rows(t, pairs, `[{"id":10,"v":"a"},{"id":11,"v":"b"},{"id":12,"v":"c"}]`)
	if _, err := table.Data().CreateAs(ctx, first, dataset.CreateOptions{StableRowIDs: true}); err != nil {
		t.Fatal(err)
	}
	source := enginetest.Rows(t, pairs, `[{"id":20,"v":"new"},{"id":12,"v":"C"},{"id":21,"v":"new"},{"id":10,"v":"A"}]`)
	if _, err := table.Merge(ctx, source, merge.Spec{On: []string{"id"}, UpdateAll: true, InsertAll: true}); err != nil {
		t.Fatal(err)
	}
	d, err := table.Data().Latest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, batches, err := d.Scan(ctx, snapshot.ScanOptions{Columns: []string{"id", "v", snapshot.RowID}})
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		v  string
		id uint64
	}
	got := map[int64]row{}
	for batch, err := range batches {
		if err != nil {
			t.Fatal(err)
		}
		for i, id := range batch.Column(0).(*array.Int64).Int64Values() {
			got[id] = row{batch.Column(1).ValueStr(i), batch.Column(2).(*array.Uint64).Value(i)}
		}
	}
	for id, want := range map[int64]row{10: {"A", 0}, 11: {"b", 1}, 12: {"C", 2}, 20: {"new", 3}, 21: {"new", 4}} {
		if got[id] != want {
			t.Errorf("row %d is %+v, want %+v", id, got[id], want)
		}
	}
}
