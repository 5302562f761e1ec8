package materialize

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"
)

// From rows in any order, the rows with the lowest ids are kept, and of equal ids the first ones.
func TestLowestRowsAreKept(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Uint64}, {Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.Int64Range(1, 40).Draw(t, "most")
		l := lowest{most: most, below: math.MaxUint64}
		type row struct {
			id uint64
			n  int64
		}
		var all, got []row
		for _, id := range rapid.Permutation([]uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1 << 40, 1<<40 + 1}).Draw(t, "ids") {
			b := array.NewRecordBuilder(arrowmemory.DefaultAllocator, schema)
			for n := range rapid.Int64Range(0, 5).Draw(t, "rows") {
				all = append(all, row{id, n})
				if id < l.below {
					b.Field(0).(*array.Uint64Builder).Append(id)
					b.Field(1).(*array.Int64Builder).Append(n)
				}
			}
			if err := l.add(t.Context(), b.NewRecordBatch()); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.trim(t.Context()); err != nil {
			t.Fatal(err)
		}
		byID := func(a, b row) int { return cmp.Compare(a.id, b.id) }
		slices.SortStableFunc(all, byID)
		for _, rows := range l.rows {
			for i, id := range idsOf(rows.Column(0)) {
				got = append(got, row{id, rows.Column(1).(*array.Int64).Value(i)})
			}
		}
		slices.SortStableFunc(got, byID)
		if want := all[:min(most, int64(len(all)))]; !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}
