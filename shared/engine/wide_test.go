package engine_test

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/query"
)

// A sort by a dictionary takes memory for its values once, and not for each row.
func TestSortsByLongDictionaryValues(t *testing.T) {
	const rows, texts, share = 100_000, 3, 32 << 20
	table := enginetest.LongTexts(t, rows, texts, 100_000)
	for _, c := range []struct {
		by    []query.Order
		k     int64
		first []int64
	}{
		{[]query.Order{asc("d")}, 3, []int64{2, 5, 8}},
		{[]query.Order{desc("d")}, 3, []int64{0, 3, 6}},
		{[]query.Order{desc("d"), desc("id")}, 2, []int64{99_999, 99_996}},
		{[]query.Order{asc("d")}, 0, []int64{2, 5, 8}},
	} {
		ctx, held := enginetest.WithMemory(t, share)
		q := &query.Query{Order: c.by, Columns: []query.Column{{Name: "id"}}}
		if c.k > 0 {
			q.Limit = &c.k
		}
		answer, err := table.Query(ctx, engine.AsOf{}, q)
		if err != nil {
			t.Fatalf("order by %s: %v", names(c.by), err)
		}
		var got []int64
		for batch, err := range answer.Batches {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, batch.Column(0).(*array.Int64).Int64Values()...)
		}
		want := int64(rows)
		if c.k > 0 {
			want = c.k
		}
		if int64(len(got)) != want || fmt.Sprint(got[:len(c.first)]) != fmt.Sprint(c.first) {
			t.Errorf("order by %s: got %d rows, the first %v; want %d, %v", names(c.by), len(got), got[:min(len(got), 3)], want, c.first)
		}
		if held.Peak() > share {
			t.Errorf("order by %s took %d bytes", names(c.by), held.Peak())
		}
	}
}

// Conditions and expressions over a dictionary take time and memory for its values, and not for each row.
func TestChangesOfRowsWithLongDictionaryValues(t *testing.T) {
	const rows, share = 100_000, 32 << 20
	table := enginetest.LongTexts(t, rows, 2, 100_000)
	ctx, _ := enginetest.WithMemory(t, share)
	if done, err := table.Delete(ctx, "length(d) = 7"); err != nil || done.Deleted != 0 {
		t.Errorf("%d rows were deleted, want none; error %v", done.Deleted, err)
	}
	if done, err := table.Update(ctx, []engine.Assignment{{Column: "id", SQL: "length(upper(d))"}}, "lower(d) LIKE '%b' AND id < 100"); err != nil || done.Updated != 50 {
		t.Errorf("%d rows were updated, want 50; error %v", done.Updated, err)
	}
	if done, err := table.Delete(ctx, "substr(d, 100001) = 'b'"); err != nil || done.Deleted != rows/2 {
		t.Errorf("%d rows were deleted, want %d; error %v", done.Deleted, rows/2, err)
	}
}
