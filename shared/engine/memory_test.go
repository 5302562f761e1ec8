package engine_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/merge"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol/queryapi"
)

// A sort keeps its keys in memory while memory is free, and otherwise uses the disk.
func TestSortsFitIntoASmallShare(t *testing.T) {
	const rows = 60_000
	table := enginetest.CreateOf(t, enginetest.Numbered(0, rows, 600), dataset.CreateOptions{})
	for _, share := range []int64{256 << 20, 16 << 20} {
		t.Run(fmt.Sprintf("%d MiB", share>>20), func(t *testing.T) {
			ctx, held := enginetest.WithMemory(t, share)
			answer, err := table.Query(ctx, engine.AsOf{}, &query.Query{Order: []query.Order{{Column: "key", Descending: true}}})
			if err != nil {
				t.Fatal(err)
			}
			last, n := "~", 0
			for batch, err := range answer.Batches {
				if err != nil {
					t.Fatal(err)
				}
				keys := batch.Column(0).(*array.String)
				for i := range keys.Len() {
					if keys.Value(i) >= last {
						t.Fatalf("%q comes after %q", keys.Value(i), last)
					}
					last, n = keys.Value(i), n+1
				}
			}
			if n != rows || held.Peak() > share {
				t.Errorf("%d rows, in %d bytes", n, held.Peak())
			}
		})
	}
}

// A merge holds its source and the keys in memory while memory is free, and otherwise uses the
// disk. If it needs more than the share, it is refused and changes nothing.
func TestMergesFitIntoASmallShare(t *testing.T) {
	const rows, merged = 50_000, 40_000
	for _, column := range []string{"key", "n"} {
		for _, c := range []struct {
			share, least int64
		}{
			{256 << 20, 10 << 20},
			{12 << 20, 1 << 20},
			{256 << 10, 0},
		} {
			t.Run(fmt.Sprintf("%s in %d KiB", column, c.share>>10), func(t *testing.T) {
				table := enginetest.CreateOf(t, enginetest.Numbered(0, rows, 10), dataset.CreateOptions{StableRowIDs: true})
				ctx, share := enginetest.WithMemory(t, c.share)
				spec := merge.Spec{On: []string{column}, UpdateAll: true, InsertAll: true, BySource: true, BySourceIf: "n % 2 = 0"}
				done, err := table.Merge(ctx, enginetest.Numbered(rows/2, rows/2+merged, 200), spec)
				if share.Peak() > c.share || share.Peak() < c.least {
					t.Errorf("it held %d bytes", share.Peak())
				}
				if c.least == 0 {
					refused := new(memory.Error)
					if newest, _ := table.Newest(t.Context()); !errors.As(err, &refused) || newest != 1 {
						t.Errorf("got %v, and version %d", err, newest)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if done.Updated != rows/2 || done.Inserted != merged-rows/2 || done.Deleted != rows/4 {
					t.Errorf("got %+v", done)
				}
			})
		}
	}
}

// One row of a source may replace any number of rows. They are put together a few at a time.
func TestMergeReplacesManyRowsByAWideOneInPieces(t *testing.T) {
	const rows, wide = 3000, 64 << 10
	table := enginetest.CreateOf(t, enginetest.Numbered(0, rows, 1), dataset.CreateOptions{})
	if _, err := table.Update(t.Context(), []engine.Assignment{{"key", "'same'"}}, ""); err != nil {
		t.Fatal(err)
	}
	source := enginetest.Numbered(0, 1, wide)
	one := source.Batches
	source.Batches = func(yield func(arrow.RecordBatch, error) bool) {
		for batch, err := range one {
			if err != nil {
				yield(nil, err)
				return
			}
			key := array.NewStringBuilder(arrowmemory.DefaultAllocator)
			key.Append("same")
			yield(array.NewRecordBatch(batch.Schema(), append([]arrow.Array{key.NewArray()}, batch.Columns()[1:]...), 1), nil)
		}
	}
	ctx, share := enginetest.WithMemory(t, 48<<20)
	largest := int64(0)
	err := engine.Do(ctx, table, nil, func(ctx context.Context, d *dataset.Dataset) error {
		s, err := merge.ReadSource(ctx, source, 1<<30, 1<<20)
		if err != nil {
			return err
		}
		defer s.Close()
		means := table.Engine().MergeMeans()
		means.MappedRows = 1000
		p, err := merge.NewPlan(ctx, d, s, merge.Spec{On: []string{"key"}, UpdateAll: true}, means)
		if err != nil {
			return err
		}
		r, err := p.Replacement(ctx)
		if err != nil {
			return err
		}
		for batch, err := range r.Insert.Batches {
			if err != nil {
				return err
			}
			largest = max(largest, take.BatchBytes(batch))
		}
		return nil
	})
	if err != nil || largest < wide || largest > 48<<20 || share.Peak() < largest {
		t.Errorf("the largest piece has %d bytes, %d were held; error %v", largest, share.Peak(), err)
	}
}

// What is known of the rows that change is counted while they are changed.
func TestRowsThatChangeAreCounted(t *testing.T) {
	const rows = 400_000
	table := enginetest.CreateOf(t, enginetest.Numbered(0, rows, 1), dataset.CreateOptions{StableRowIDs: true})
	for name, change := range map[string]func(ctx context.Context) error{
		"update": func(ctx context.Context) error {
			_, err := table.Update(ctx, []engine.Assignment{{"n", "n + 1"}}, "n % 5 = 0")
			return err
		},
		"delete": func(ctx context.Context) error {
			_, err := table.Delete(ctx, "n % 4 = 0")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			small, _ := enginetest.WithMemory(t, 16<<10)
			refused := new(memory.Error)
			if err := change(small); !errors.As(err, &refused) {
				t.Errorf("in 16 KiB: got %v", err)
			}
			budget := memory.NewBudget(64<<20, 64<<20)
			share := budget.Open()
			defer share.Close()
			confirmed := int64(0)
			ctx := memory.WithShare(t.Context(), share)
			rows := &engine.Chosen{}
			err := engine.Do(ctx, table, nil, func(ctx context.Context, d *dataset.Dataset) (err error) {
				rows, err = table.Engine().Choose(ctx, d, "n % 3 = 0")
				confirmed = share.Held()
				return err
			})
			if err != nil || confirmed < rows.Set().Bytes() || rows.Set().Bytes() < rows.Set().Len()/8 {
				t.Errorf("%d rows in %d bytes hold %d; error %v", rows.Set().Len(), rows.Set().Bytes(), confirmed, err)
			}
			rows.Held().Release()
			if err := change(ctx); err != nil || share.Held() != 0 {
				t.Errorf("got %v, and %d bytes are held", err, share.Held())
			}
		})
	}
}

// Computed values of an answer or an update are counted while they are in use, and are computed for
// fewer rows at a time when memory is too short.
func TestComputedValuesAreHeldAndMadeInPieces(t *testing.T) {
	const rows, share = 1500, 12 << 20
	table := enginetest.CreateOf(t, enginetest.Numbered(0, rows, 100), dataset.CreateOptions{})
	wide := query.Column{Name: "wide", Expression: "repeat(text, 400)"} // 60 MB in all
	search := &query.Query{Text: &queryapi.FullTextQuery{Text: "row", Columns: []string{"key"}}, Columns: []query.Column{wide}}
	for name, q := range map[string]*query.Query{
		"scan": {Columns: []query.Column{wide, {Name: "n"}}},
		"sort": {Columns: []query.Column{wide}, Order: []query.Order{{Column: "key"}}},
		"text": search,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, held := enginetest.WithMemory(t, share)
			answer, err := table.Query(ctx, engine.AsOf{}, q)
			if err != nil {
				t.Fatal(err)
			}
			testPieces(t, answer.Batches, held, rows, 60_000_000)
		})
	}
	t.Run("update", func(t *testing.T) {
		ctx, held := enginetest.WithMemory(t, share)
		err := engine.Do(ctx, table, nil, func(ctx context.Context, d *dataset.Dataset) error {
			p, err := table.Engine().PlanUpdate(ctx, d, []engine.Assignment{{"text", wide.Expression}}, "")
			if err != nil {
				return err
			}
			r, err := p.Replacement(ctx)
			if err != nil {
				return err
			}
			testPieces(t, r.Insert.Batches, held, rows, 60_000_000)
			p.Held().Release()
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// testPieces looks through batches that take the share of their request.
func testPieces(t *testing.T, batches iter.Seq2[arrow.RecordBatch, error], held *memory.Share, rows, bytes int64) {
	t.Helper()
	for batch, err := range batches {
		if err != nil {
			t.Fatal(err)
		}
		rows -= batch.NumRows()
		bytes -= take.BatchBytes(batch)
		if held.Held() < take.BatchBytes(batch) {
			t.Fatalf("a batch of %d bytes holds %d", take.BatchBytes(batch), held.Held())
		}
	}
	if rows != 0 || bytes > 0 {
		t.Errorf("%d rows and %d bytes are missing", rows, bytes)
	}
}

// A text search keeps the counts of rows while memory is free, and otherwise counts twice, with the
// same result.
func TestTextSearchesFitIntoASmallShare(t *testing.T) {
	table := enginetest.CreateOf(t, enginetest.Numbered(0, 60_000, 20), dataset.CreateOptions{})
	words := "row"
	for i := range 40 {
		words += fmt.Sprintf(" %d", 1000*i+7)
	}
	k, want := int64(50), []string(nil)
	for _, c := range []struct {
		share, least int64
	}{{256 << 20, 10 << 20}, {12 << 20, 1 << 20}, {64 << 10, 0}} {
		ctx, share := enginetest.WithMemory(t, c.share)
		answer, err := table.Query(ctx, engine.AsOf{}, &query.Query{
			Text: &queryapi.FullTextQuery{Text: words, Columns: []string{"key"}}, Limit: &k, Columns: []query.Column{{Name: "n"}},
		})
		if c.least == 0 {
			if refused := new(memory.Error); !errors.As(err, &refused) {
				t.Errorf("a share of %d: got %v", c.share, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := enginetest.Lines(t, answer); want == nil {
			want = got
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("a share of %d (-large +small):\n%s", c.share, diff)
		}
		if peak := share.Peak(); peak < c.least || peak > c.share {
			t.Errorf("a share of %d held %d", c.share, peak)
		}
	}
}
