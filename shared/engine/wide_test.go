package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/computed"
	"tiltyard/shared/engine/evolution"
	"tiltyard/shared/engine/fill"
	"tiltyard/shared/engine/indexbuild"
	"tiltyard/shared/engine/indices"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/alter"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/storage/objectstore/memstore"
)

// wide makes a table whose column d is a dictionary of texts of so many bytes, in which row n has the text of
// number n % texts, where texts of higher numbers come first. Its rows take a few bytes each; their texts would
// take far more than any machine has.
func wide(t *testing.T, rows, texts, bytes int) *engine.Table {
	t.Helper()
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	columns := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "d", Type: typ, Nullable: true},
	}, nil)
	values := array.NewStringBuilder(arrowmemory.DefaultAllocator)
	for n := range texts {
		values.Append(strings.Repeat("x", bytes) + string(rune('a'+texts-n)))
	}
	ids, indices := array.NewInt64Builder(arrowmemory.DefaultAllocator), array.NewInt8Builder(arrowmemory.DefaultAllocator)
	for i := range rows {
		ids.Append(int64(i))
		indices.Append(int8(i % texts))
	}
	batch := array.NewRecordBatch(columns, []arrow.Array{ids.NewArray(), array.NewDictionaryArray(typ, indices.NewArray(), values.NewArray())}, int64(rows))
	table := tableIn(memstore.New(), engine.Limits{})
	if _, err := table.Create(t.Context(), dataset.Rows{Schema: columns, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}); err != nil {
		t.Fatal(err)
	}
	return table
}

// A sort by a dictionary takes memory for its values once, and not for each row.
func TestSortsByLongDictionaryValues(t *testing.T) {
	const rows, texts, share = 100_000, 3, 32 << 20
	table := wide(t, rows, texts, 100_000)
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
		ctx, held := inShare(t, share)
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

// Expressions that lengthen rows are computed for as many rows at a time as there is memory for.
func TestRowsThatGrowAreWrittenInParts(t *testing.T) {
	const rows, share = 4_000, 64 << 20
	longer := "repeat(text, 50)"
	for _, c := range []struct {
		name  string
		table func() *engine.Table
		row   string // the number of a row
		grow  func(ctx context.Context, table *engine.Table) error
		bytes int64
	}{
		{"added columns", func() *engine.Table { return created(t, numbered(0, rows, 400), false) }, "n", func(ctx context.Context, table *engine.Table) error {
			_, err := evolution.AddColumns(ctx, table, []engine.Assignment{{Column: "made", SQL: longer}})
			return err
		}, 50 * 400 * rows},
		{"a backfill", func() *engine.Table { return created(t, numbered(0, rows, 400), false) }, "n", func(ctx context.Context, table *engine.Table) error {
			if _, err := evolution.AddComputedColumns(ctx, table, []engine.Assignment{{Column: "made", SQL: longer}}, computed.Schedule{}); err != nil {
				return err
			}
			_, err := fill.Run(ctx, table, fill.Order{Column: "made"})
			return err
		}, 50 * 400 * rows},
		{"a cast of a dictionary", func() *engine.Table { return wide(t, rows, 2, 20_000) }, "id", func(ctx context.Context, table *engine.Table) error {
			_, err := evolution.AlterColumns(ctx, table, []alter.Alteration{{Path: "d", Rename: "made", Type: arrow.BinaryTypes.LargeString}})
			return err
		}, 20_001 * rows},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := c.table()
			if _, err := table.Delete(t.Context(), c.row+" % 1000 = 7"); err != nil {
				t.Fatal(err)
			}
			ctx, held := inShare(t, share)
			if err := c.grow(ctx, table); err != nil {
				t.Fatalf("%v; at most %d bytes were held", err, held.Peak())
			}
			total, deleted := int64(0), int64(4)
			err := engine.Do(t.Context(), table, nil, func(ctx context.Context, d *dataset.Dataset) error {
				_, batches, err := d.Scan(ctx, snapshot.ScanOptions{Columns: []string{"made"}})
				if err != nil {
					return err
				}
				for batch, err := range batches {
					if err != nil {
						return err
					}
					for i := range int(batch.NumRows()) {
						total += int64(len(batch.Column(0).ValueStr(i)))
					}
				}
				return nil
			})
			if want := c.bytes / rows * (rows - deleted); err != nil || total != want {
				t.Errorf("the rows have %d bytes, want %d; error %v", total, want, err)
			}
		})
	}
}

// Builds of indices keep to the memory of their share, however long the values are, and the indices answer.
func TestIndicesOfLongValuesFitIntoASmallShare(t *testing.T) {
	const share = 128 << 20
	for _, c := range []struct {
		name        string
		kind        indexmeta.Kind
		rows, bytes int
		filter      string
	}{
		{"BTREE", indexmeta.BTree, 1_500, 100_000, "text = '%s'"},
		{"FM", indexmeta.FM, 6_000, 2_000, "contains(text, '%s')"},
	} {
		t.Run(c.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			columns := arrow.NewSchema([]arrow.Field{{Name: "text", Type: arrow.BinaryTypes.String}}, nil)
			var one string
			table := created(t, dataset.Rows{Schema: columns, Batches: func(yield func(arrow.RecordBatch, error) bool) {
				for from := 0; from < c.rows; from += 100 {
					texts := array.NewStringBuilder(arrowmemory.DefaultAllocator)
					for range 100 {
						text := make([]byte, c.bytes)
						for i := range text {
							text[i] = 'a' + byte(random.IntN(26))
						}
						one = string(text)
						texts.Append(one)
					}
					if !yield(array.NewRecordBatch(columns, []arrow.Array{texts.NewArray()}, 100), nil) {
						return
					}
				}
			}}, false)
			ctx, held := inShare(t, share)
			if _, err := indices.Create(ctx, table, indexbuild.Index{Name: "i", Column: "text", Kind: c.kind}); err != nil {
				t.Fatalf("%v; at most %d bytes were held", err, held.Peak())
			}
			answer, err := table.Query(ctx, engine.AsOf{}, &query.Query{Filter: fmt.Sprintf(c.filter, one[:min(len(one), 60_000)])})
			rows := int64(0)
			if err == nil {
				for batch, err := range answer.Batches {
					if err != nil {
						t.Fatal(err)
					}
					rows += batch.NumRows()
				}
			}
			want := int64(1)
			if len(one) > 60_000 {
				want = 0 // filters are no longer than that
			}
			if err != nil || rows != want {
				t.Errorf("got %d rows, want %d; error %v", rows, want, err)
			}
		})
	}
}

// Conditions and expressions over a dictionary take time and memory for its values, and not for each row.
func TestChangesOfRowsWithLongDictionaryValues(t *testing.T) {
	const rows, share = 100_000, 32 << 20
	table := wide(t, rows, 2, 100_000)
	ctx, _ := inShare(t, share)
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
