package query

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine/internal/condition"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

func tableIn(store objectstore.Store) *dataset.Table {
	at := objectstore.Location{URI: "memory://test/t.lance", Store: store, Prefix: "t.lance"}
	return dataset.NewSession(64<<20, time.Now).Table(at, 0)
}

// A table that is sorted by the places of its rows gives the same as one that is sorted whole.
func TestSortsByPlacesAndWholeAgree(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "b", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
		{Name: "f", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	}, nil)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(
		`[{"id":0,"f":1e300,"b":true},{"id":1,"f":-0.5,"b":false},{"id":2},{"id":3,"f":0,"b":true},{"id":4,"f":-1e300,"b":false}]`))
	if err != nil {
		t.Fatal(err)
	}
	rows := dataset.Rows{Schema: schema, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}
	made, err := tableIn(memstore.New()).Create(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	by := []Order{{Column: "b", Descending: true}, {Column: "f"}}
	for _, limit := range []int64{noLimit, 1, 3} {
		q := &Query{Order: by, Limit: &limit, Offset: 1, Filter: "id < 4 or f < 0"}
		whole, places := sorted(t, made.Dataset, q), sorted(t, made.Dataset, q)
		if !whole.whole {
			t.Error("a table of five rows is not sorted whole")
		}
		if err := places.resolve(false); err != nil {
			t.Fatal(err)
		}
		want, got := lines(t, whole), lines(t, places)
		if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
			t.Errorf("limit %d (-whole +by places), %d rows:\n%s", limit, len(want), diff)
		}
	}
}

func sorted(t *testing.T, d *dataset.Dataset, q *Query) *tableSort {
	t.Helper()
	resolved, err := new(Planner).newScan(t.Context(), condition.Relation{Dataset: d}, q)
	if err != nil {
		t.Fatal(err)
	}
	return resolved.(*tableSort)
}

// lines returns the rows of an answer as text.
func lines(t *testing.T, answer Answer) (lines []string) {
	t.Helper()
	rows, err := answer.Rows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for batch, err := range rows.Batches {
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(batch.NumRows()) {
			var values []string
			for c, column := range batch.Columns() {
				values = append(values, fmt.Sprintf("%s=%s", batch.ColumnName(c), column.ValueStr(i)))
			}
			lines = append(lines, strings.Join(values, " "))
		}
	}
	return lines
}
