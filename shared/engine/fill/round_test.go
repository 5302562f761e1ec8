package fill_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/computed"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/evolution"
	"tiltyard/shared/engine/fill"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol/schemaapi"
	"tiltyard/shared/storage/objectstore/memstore"
)

// A slow function is a doubler whose calls take some time.
type slow struct {
	doubler
	takes time.Duration
}

func (s *slow) Call(ctx context.Context, in arrow.RecordBatch) (udf.Result, error) {
	time.Sleep(s.takes)
	return s.doubler.Call(ctx, in)
}

// count returns n rows whose ids begin with first.
func count(first, n int) dataset.Rows {
	s := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	b := array.NewInt64Builder(arrowmemory.DefaultAllocator)
	for i := range n {
		b.Append(int64(first + i))
	}
	batch := array.NewRecordBatch(s, []arrow.Array{b.NewArray()}, int64(n))
	return dataset.Rows{Schema: s, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}
}

// divided returns the first round of a backfill.
func divided(t interface {
	Context() context.Context
	Fatalf(string, ...any)
}, table *engine.Table, b fill.Order,
) *fill.Round {
	_, err := fill.Run(t.Context(), table, b)
	var d *fill.Divided
	if !errors.As(err, &d) {
		t.Fatalf("got %v, want an error that divides the run", err)
	}
	return d.Round
}

// inRounds runs a backfill in rounds, and interrupts their parts each time that they store their pieces. It returns the
// result, the number of rounds, and how often pieces were stored.
func inRounds(ctx context.Context, table *engine.Table, b fill.Order, r *fill.Round) (done fill.Result, rounds, kept int, err error) {
	interrupted := errors.New("interrupted")
	for ; r != nil; rounds++ {
		var whole []fill.Piece
		byFragment := map[uint64][]fill.Piece{}
		for part := range r.Parts {
			var pieces []fill.Piece
			for {
				stored, err := json.Marshal(pieces)
				if err != nil {
					return done, rounds, kept, err
				}
				pieces = nil
				if err := json.Unmarshal(stored, &pieces); err != nil {
					return done, rounds, kept, err
				}
				pieces, err = fill.Part(ctx, table, b, r, part, pieces, func(context.Context, []fill.Piece) error { kept++; return interrupted })
				if err == nil {
					break
				}
				if !errors.Is(err, interrupted) {
					return done, rounds, kept, err
				}
			}
			for _, p := range pieces {
				byFragment[p.Fragment] = append(byFragment[p.Fragment], p)
			}
		}
		for _, pieces := range byFragment {
			joined, err := fill.Join(ctx, table, b, r, pieces)
			if err != nil {
				return done, rounds, kept, err
			}
			whole = append(whole, joined)
		}
		if r, done, err = fill.Commit(ctx, table, b, *r, whole); err != nil {
			return done, rounds, kept, err
		}
	}
	return done, rounds, kept, nil
}

// A fragment that takes longer than the time limit of a worker is computed in pieces. Each call runs once, although the
// worker is interrupted after each piece.
func TestPartComputesALongFragmentInPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rows = 55*4096 + 100
		table := enginetest.Table(memstore.New(), engine.Limits{})
		if _, err := table.CreateAs(t.Context(), count(0, rows), dataset.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := evolution.AddFunctionColumns(t.Context(), table, use(false)); err != nil {
			t.Fatal(err)
		}
		if _, err := table.Delete(t.Context(), "id % 100 = 7"); err != nil {
			t.Fatal(err)
		}
		f := &slow{doubler: doubler{bad: []int64{5, 4096, rows - 1}}, takes: 61 * time.Second}
		var failed []string
		saves := 0
		b := fill.Order{
			Column: "double", Sizes: &fill.Sizes{Whole: 10, Rows: 10, Calls: rows, Parts: 10, CallParts: 10},
			Open: func(context.Context, *schemaapi.FunctionBinding) (udf.Caller, []arrow.Field, error) {
				return f, []arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil
			},
			Failed: func(f fill.RowFailure) { failed = append(failed, fmt.Sprint(f.Fragment, " ", f.From, " ", f.Offset)) },
			Save:   func(context.Context, int64) error { saves++; return nil },
		}
		b.Sizes.Calls = 10
		r := divided(t, table, b)
		r.Parts = 1
		got, rounds, kept, err := inRounds(t.Context(), table, b, r)
		live := int64(rows) - rows/100 - 1
		if err != nil || rounds != 1 || got.Failed != 3 || got.Assigned != live-3 || kept < 50 || f.rows != int(live) {
			t.Errorf("got %+v in %d rounds, kept %d times, with calls of %d rows: %v", got, rounds, kept, f.rows, err)
		}
		if want := []string{"0 0 5", "0 4096 4096", fmt.Sprint("0 ", 55*4096, " ", rows-1)}; !slices.Equal(failed, want) || saves != kept {
			t.Errorf("got the failures %q, want %q; saved %d times", failed, want, saves)
		}
		wrong, nulls := 0, 0
		for _, row := range doubles(t, table) {
			id, double, _ := strings.Cut(row, ":")
			var n, d int
			if double == "(null)" {
				nulls++
			} else if _, err := fmt.Sscan(id, &n); err != nil {
				t.Fatal(err)
			} else if _, err := fmt.Sscan(double, &d); err != nil || d != 2*n {
				wrong++
			}
		}
		if wrong > 0 || nulls != 3 {
			t.Errorf("%d rows are wrong and %d have no value, want 3", wrong, nulls)
		}
	})
}

// A backfill in parts gives the same values and counts as an undivided one.
func TestPartGivesTheValuesOfAnUndividedRun(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var tables [2]*engine.Table
		sizes := rapid.SliceOfN(rapid.IntRange(1, 40), 1, 6).Draw(rt, "fragments")
		gone := rapid.IntRange(2, 9).Draw(rt, "deleted")
		opts := dataset.CreateOptions{StableRowIDs: rapid.Bool().Draw(rt, "stable row ids")}
		for i := range tables {
			table := enginetest.Table(memstore.New(), engine.Limits{})
			first := 0
			for j, n := range sizes {
				write := table.Insert
				if j == 0 {
					write = func(ctx context.Context, rows dataset.Rows) (engine.Written, error) {
						return table.CreateAs(ctx, rows, opts)
					}
				}
				if _, err := write(t.Context(), count(first, n)); err != nil {
					rt.Fatal(err)
				}
				first += n
			}
			if _, err := evolution.AddComputedColumns(t.Context(), table, []engine.Assignment{{Column: "double", SQL: "CASE WHEN id % 11 = 5 THEN NULL ELSE id * 2 END"}}, computed.Schedule{}); err != nil {
				rt.Fatal(err)
			}
			if _, err := table.Delete(t.Context(), fmt.Sprintf("id %% %d = 1", gone)); err != nil {
				rt.Fatal(err)
			}
			tables[i] = table
		}
		b := fill.Order{
			Column: "double", Where: rapid.SampledFrom([]string{"", "id % 3 = 0", "id < 10"}).Draw(rt, "where"),
			PerCommit: rapid.IntRange(0, 3).Draw(rt, "per commit"), Fragments: rapid.IntRange(0, 4).Draw(rt, "most fragments"),
			Parts: rapid.IntRange(0, 5).Draw(rt, "concurrency"),
		}
		for range 2 { // the second time few rows are left
			want, err := fill.Run(t.Context(), tables[0], b)
			if err != nil {
				rt.Fatal(err)
			}
			parted := b
			parted.Sizes = &fill.Sizes{Whole: 0, Rows: rapid.Int64Range(1, 30).Draw(rt, "rows"), Parts: 1000}
			got := fill.Result{}
			if n, err := tables[1].Count(t.Context(), engine.AsOf{}, ""); err != nil {
				rt.Fatal(err)
			} else if n.Rows == 0 {
				return
			}
			if got, _, _, err = inRounds(t.Context(), tables[1], parted, divided(rt, tables[1], parted)); err != nil {
				rt.Fatal(err)
			}
			if got.Assigned != want.Assigned || got.Remaining != want.Remaining || got.Source == 0 || (got.Published == nil) != (want.Published == nil) {
				rt.Fatalf("got %+v, want %+v", got, want)
			}
			if got, want := doubles(t, tables[1]), doubles(t, tables[0]); !slices.Equal(got, want) {
				rt.Fatalf("got rows %q, want %q", got, want)
			}
		}
	})
}
