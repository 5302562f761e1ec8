package indexing_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine/indexbuild"
	"tiltyard/shared/index"
	"tiltyard/shared/index/indextest"
	"tiltyard/shared/index/kinds"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/sql/pruning"
)

// questions are of the values of the column n: some, all, and none.
func questions() []index.Question {
	b := array.NewInt32Builder(arrowmemory.DefaultAllocator)
	b.AppendValues([]int32{3, 7, 45}, nil)
	values := b.NewArray()
	bound := func(i int64) index.Bound { return index.Bound{Value: array.NewSlice(values, i, i+1)} }
	return []index.Question{
		{Ranges: []index.Range{{From: bound(1), To: bound(1)}}},
		{Ranges: []index.Range{{To: bound(0)}, {From: bound(2)}}},
		{Ranges: []index.Range{{}}},
		{Null: true},
	}
}

// check asks the segments of an index, and returns what is wrong with the answers.
func (h *house) check(t *testing.T, n indexbuild.Index) string {
	t.Helper()
	return engineRead(t, h.at(t), func(ctx context.Context, d *dataset.Dataset) string {
		filters := kinds.Of(n.Kind).Filters
		switch {
		case filters == nil:
			if got, want := h.nearest(t, false), h.nearest(t, true); !slices.Equal(got, want) || len(h.warnings) > 0 {
				return fmt.Sprintf("nearest are %v, want %v; %v", got, want, h.warnings)
			}
		case filters.Answers(pruning.Probe{Test: pruning.Equal}) == pruning.Answers:
			return checkValues(ctx, d, n, filters)
		case filters.Answers(pruning.Probe{Test: pruning.Tokens}) == pruning.Answers:
			return h.checkWords(ctx, t, d)
		case filters.Answers(pruning.Probe{Test: pruning.Contains}) == pruning.Answers:
			return checkPieces(ctx, d, n, filters)
		}
		return ""
	})
}

// each calls f with the values of a column, and the addresses of their rows.
func each(ctx context.Context, d *dataset.Dataset, column, row string, f func(values arrow.Array, rows []uint64)) string {
	_, batches, err := d.Scan(ctx, snapshot.ScanOptions{Columns: []string{column, row}})
	if err != nil {
		return err.Error()
	}
	for batch, err := range batches {
		if err != nil {
			return err.Error()
		}
		f(batch.Column(0), batch.Column(1).(*array.Uint64).Uint64Values())
	}
	return ""
}

func checkValues(ctx context.Context, d *dataset.Dataset, n indexbuild.Index, filters *index.Filters) string {
	order, err := index.OrderOf(arrow.PrimitiveTypes.Int32)
	if err != nil {
		return err.Error()
	}
	for _, q := range questions() {
		wrong := checkQuestion(ctx, d, n, filters, q, func(values arrow.Array, at int) bool { return indextest.Matches(values, at, q, order) })
		if wrong != "" {
			return wrong
		}
	}
	return ""
}

// checkPieces asks an index for patterns.
func checkPieces(ctx context.Context, d *dataset.Dataset, n indexbuild.Index, filters *index.Filters) string {
	for _, pattern := range []string{"ember", "r c", "e", "not there"} {
		b := array.NewStringBuilder(arrowmemory.DefaultAllocator)
		b.Append(pattern)
		bound := index.Bound{Value: b.NewArray()}
		q := index.Question{All: []index.Question{{Ranges: []index.Range{{From: bound, To: bound}}}}}
		wrong := checkQuestion(ctx, d, n, filters, q, func(values arrow.Array, at int) bool {
			return values.IsValid(at) && strings.Contains(values.(*array.String).Value(at), pattern)
		})
		if wrong != "" {
			return wrong
		}
	}
	return ""
}

// checkQuestion asks the segments of an index a question, and looks whether its rows are those whose values match.
func checkQuestion(
	ctx context.Context, d *dataset.Dataset, n indexbuild.Index, filters *index.Filters,
	q index.Question, matches func(values arrow.Array, at int) bool,
) string {
	segments, err := d.Segments(n.Name)
	if err != nil {
		return err.Error()
	}
	column, err := d.Column(n.Column)
	if err != nil {
		return err.Error()
	}
	found, exact := map[uint64]int{}, true
	for _, s := range segments {
		r, err := filters.Open(ctx, s, column.Type)
		if err != nil {
			return err.Error()
		}
		answer, err := r.Search(ctx, q)
		if err != nil {
			return err.Error()
		}
		rows, err := d.RowsOf(ctx, s, answer.Rows, false)
		if err != nil {
			return err.Error()
		}
		exact = exact && answer.Exact
		for row := range rows.All() {
			found[row]++
		}
	}
	covers := func(row uint64) bool {
		return slices.ContainsFunc(segments, func(s *snapshot.Segment) bool { return s.Covers(row >> 32) })
	}
	wrong := ""
	failed := each(ctx, d, n.Column, snapshot.RowAddr, func(values arrow.Array, rows []uint64) {
		for at, row := range rows {
			fits, times := matches(values, at), found[row]
			if fits && covers(row) && times != 1 || !fits && times > 0 && exact {
				wrong = fmt.Sprintf("question %s: row %x is found %d times, and its value matches: %t", q, row, times, fits)
			}
		}
	})
	return failed + wrong
}

// checkWords compares which rows have a word.
func (h *house) checkWords(ctx context.Context, t *testing.T, d *dataset.Dataset) string {
	t.Helper()
	want, ids := map[int64]bool{}, []int64(nil)
	failed := each(ctx, d, "id", snapshot.RowAddr, func(values arrow.Array, _ []uint64) {
		ids = append(ids, values.(*array.Int64).Int64Values()...)
	})
	at := 0
	failed += each(ctx, d, "s", snapshot.RowAddr, func(values arrow.Array, _ []uint64) {
		for i := range values.Len() {
			if values.IsValid(i) && strings.Contains(values.(*array.String).Value(i), "ember") {
				want[ids[at]] = true
			}
			at++
		}
	})
	got := map[int64]bool{}
	for id := range h.scores(t, "ember") {
		got[id] = true
	}
	if failed == "" && !maps.Equal(got, want) {
		failed = fmt.Sprintf("%d rows have the word, want %d", len(got), len(want))
	}
	if len(h.warnings) > 0 {
		failed += strings.Join(h.warnings, "; ")
	}
	return failed
}
