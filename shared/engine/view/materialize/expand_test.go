package materialize

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine/selection"
	"tiltyard/shared/process/memory"
)

var listed = arrow.NewSchema([]arrow.Field{
	{Name: "text", Type: arrow.BinaryTypes.String},
	{Name: "list", Type: arrow.ListOf(arrow.PrimitiveTypes.Int64), Nullable: true},
	{Name: "_rowid", Type: arrow.PrimitiveTypes.Uint64},
}, nil)

// planned returns the expansion of a query.
func planned(t *testing.T, columns, each string) *selection.Expansion {
	t.Helper()
	query, err := selection.Parse("SELECT " + columns + " FROM t, " + each + " AS item")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := query.Plan(t.Context(), arrow.NewSchema(listed.Fields()[:2], nil))
	if err != nil {
		t.Fatal(err)
	}
	return plan.Each
}

// expansion returns that of the list, and a batch of a row for each number of items; -1 is null.
func expansion(t *testing.T, text string, items ...int) (*selection.Expansion, arrow.RecordBatch) {
	t.Helper()
	b := array.NewRecordBuilder(arrowmemory.DefaultAllocator, listed)
	for row, n := range items {
		b.Field(0).(*array.StringBuilder).Append(fmt.Sprint(row, text))
		lists := b.Field(1).(*array.ListBuilder)
		lists.Append(n >= 0)
		for i := range n {
			lists.ValueBuilder().(*array.Int64Builder).Append(int64(i))
		}
		b.Field(2).(*array.Uint64Builder).Append(uint64(row))
	}
	return planned(t, "text, item", "UNNEST(list)"), b.NewRecordBatch()
}

// All items of all lists come in their order, each beside the other values of its row.
func TestListsExpandToTheirItems(t *testing.T) {
	sizes := []int{0, 3, -1, maxExpanded - 4, 2, 3 * maxExpanded, 1}
	x, batch := expansion(t, "", sizes...)
	for _, from := range []int64{0, 2} {
		row, item := int(from), 0
		next := func() {
			for row < len(sizes) && item >= sizes[row] {
				row, item = row+1, 0
			}
		}
		for made, err := range expand(t.Context(), x, batch.NewSlice(from, batch.NumRows()), pass) {
			if err != nil {
				t.Fatal(err)
			}
			if made.NumRows() > maxExpanded {
				t.Errorf("%d rows at once", made.NumRows())
			}
			for i := range int(made.NumRows()) {
				next()
				got := fmt.Sprint(made.Column(0).ValueStr(i), made.Column(1).ValueStr(i), made.Column(2).ValueStr(i))
				if want := fmt.Sprint(fmt.Sprint(row), fmt.Sprint(item), fmt.Sprint(row)); got != want {
					t.Fatalf("got %s, want item %d of row %d", got, item, row)
				}
				item++
			}
		}
		if next(); row != len(sizes) {
			t.Errorf("from row %d: the items end at %d of row %d", from, item, row)
		}
	}
}

func pass(_ context.Context, batch arrow.RecordBatch, _ int64) (arrow.RecordBatch, error) {
	return batch, nil
}

// A row whose long text stands beside each of a million items needs no more memory than there is.
func TestExpandKeepsItsShareOfMemory(t *testing.T) {
	const items, limit = 1_000_000, 4 << 20
	x, batch := expansion(t, strings.Repeat("long", 16<<10), items)
	share := memory.NewBudget(limit, limit).Open()
	defer share.Close()
	rows, most := int64(0), 0
	for made, err := range expand(memory.WithShare(t.Context(), share), x, batch, pass) {
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, int(made.NumRows()))
		if rows += made.NumRows(); rows > items/50 { // the others are as these
			break
		}
	}
	if most < 4 || share.Peak() > limit { // an eighth of the memory
		t.Errorf("%d rows at once at most, %d bytes", most, share.Peak())
	}
}

// The pieces of a text are made one at a time, so a million of them need little memory. The text is not
// repeated for each piece unless a column needs it.
func TestExpandKeepsItsShareOfMemoryForManyPieces(t *testing.T) {
	const count, limit = 1_000_000, 4 << 20
	_, batch := expansion(t, strings.Repeat("x", count-1), 0) // and the number of its row
	share := memory.NewBudget(limit, limit).Open()
	defer share.Close()
	rows := int64(0)
	for made, err := range expand(memory.WithShare(t.Context(), share), planned(t, "item", "split_text(text, 1)"), batch, pass) {
		if err != nil {
			t.Fatal(err)
		}
		piece := made.Column(0).(*array.Struct)
		if got := piece.Field(1).(*array.Int64).Value(0); got != rows {
			t.Fatalf("piece %d begins at %d", rows, got)
		}
		rows += made.NumRows()
	}
	if rows != count || share.Peak() > limit {
		t.Errorf("%d pieces, %d bytes", rows, share.Peak())
	}
}
