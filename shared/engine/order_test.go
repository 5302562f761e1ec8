package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/protocol"
)

func asc(column string) query.Order { return query.Order{Column: column} }

func desc(column string) query.Order {
	return query.Order{Column: column, Descending: true}
}

func nullsFirst(o query.Order) query.Order {
	o.NullsFirst = true
	return o
}

// sortable is a table with a column of each kind of order.
func sortable(t *testing.T) *engine.Table {
	t.Helper()
	field := func(name string, typ arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: typ, Nullable: true}
	}
	schema := arrow.NewSchema([]arrow.Field{
		field("id", arrow.PrimitiveTypes.Int64), field("a", arrow.PrimitiveTypes.Int32), field("u", arrow.PrimitiveTypes.Uint8),
		field("f", arrow.PrimitiveTypes.Float64), field("s", arrow.BinaryTypes.String), field("b", arrow.FixedWidthTypes.Boolean),
		field("day", arrow.FixedWidthTypes.Date32), field("dec", &arrow.Decimal128Type{Precision: 20, Scale: 2}),
		field("l", arrow.ListOf(arrow.PrimitiveTypes.Int64)), field("st", arrow.StructOf(field("x", arrow.PrimitiveTypes.Int64))),
	}, nil)
	return enginetest.Create(t, schema, `[
		{"id":0,"a":3,"u":200,"f":1e300,"s":"b","b":true,"day":"1969-12-31","dec":"-1.00","l":[1,2],"st":{"x":2}},
		{"id":1,"a":-1,"u":5,"f":-0.5,"s":"a","b":false,"day":"2024-01-01","dec":"10.00","l":[1],"st":{"x":1}},
		{"id":2,"a":null,"u":null,"f":null,"s":null,"b":null,"day":null,"dec":null,"l":null,"st":null},
		{"id":3,"a":2,"u":0,"f":0,"s":"","b":true,"day":"2023-05-05","dec":"9.50","l":[],"st":{"x":null}},
		{"id":4,"a":-1,"u":6,"f":-1e300,"s":"a\u0000","b":false,"day":"1900-01-01","dec":"-99.00","l":[1,null],"st":{"x":3}}]`)
}

func TestRowsAreOrderedBySeveralKeys(t *testing.T) {
	table := sortable(t)
	for _, c := range []struct {
		by   []query.Order
		want string
	}{
		{[]query.Order{asc("a")}, "1 4 3 0 2"},
		{[]query.Order{desc("a")}, "0 3 1 4 2"},
		{[]query.Order{nullsFirst(asc("a"))}, "2 1 4 3 0"},
		{[]query.Order{nullsFirst(desc("a"))}, "2 0 3 1 4"},
		{[]query.Order{asc("a"), desc("id")}, "4 1 3 0 2"},
		{[]query.Order{asc("b"), asc("s")}, "1 4 3 0 2"},
		{[]query.Order{asc("u")}, "3 1 4 0 2"},
		{[]query.Order{asc("f")}, "4 1 3 0 2"},
		{[]query.Order{asc("s")}, "3 1 4 0 2"},
		{[]query.Order{desc("s")}, "0 4 1 3 2"},
		{[]query.Order{asc("day")}, "4 0 3 1 2"},
		{[]query.Order{asc("dec")}, "4 0 3 1 2"},
		{[]query.Order{asc("l")}, "3 1 0 4 2"},
		{[]query.Order{asc("st")}, "1 0 4 3 2"},
		{[]query.Order{asc("st.x")}, "1 0 4 2 3"},
		{[]query.Order{desc("_rowid")}, "4 3 2 1 0"},
	} {
		q := &query.Query{Order: c.by, Columns: []query.Column{{Name: "id"}}}
		if got := ids(t, table, q); got != c.want {
			t.Errorf("order by %s: got %s, want %s", names(c.by), got, c.want)
		}
		for offset := range int64(6) {
			for k := int64(1); k < 6; k++ {
				q.Offset, q.Limit = offset, &k
				all := strings.Fields(c.want)
				from := min(int(offset), len(all))
				want := strings.Join(all[from:min(from+int(k), len(all))], " ")
				if got := ids(t, table, q); got != want {
					t.Errorf("order by %s, offset %d, k %d: got %s, want %s", names(c.by), offset, k, got, want)
				}
			}
		}
	}
}

// names returns the orders as an error message has them.
func names(by []query.Order) string { return fmt.Sprintf("%+v", by) }

// ids runs a query for ids and returns them.
func ids(t *testing.T, table *engine.Table, q *query.Query) string {
	t.Helper()
	lines := enginetest.Show(t, table, q)
	for i, line := range lines {
		id, _, _ := strings.Cut(line, " ")
		lines[i] = strings.TrimPrefix(id, "id=")
	}
	return strings.Join(lines, " ")
}

func TestOrderByOfAFilterAndOfExpressions(t *testing.T) {
	table := sortable(t)
	q := &query.Query{
		Order: []query.Order{desc("s")}, Filter: "a < 3",
		Columns: []query.Column{{Name: "twice", Expression: "id * 2"}},
	}
	want := []string{"twice=8", "twice=2", "twice=6"}
	if diff := cmp.Diff(want, enginetest.Show(t, table, q)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOrderByWhatIsNotThereOrHasNoOrder(t *testing.T) {
	_, err := sortable(t).Query(t.Context(), engine.AsOf{}, &query.Query{Order: []query.Order{asc("nope")}})
	enginetest.WantCode(t, "unknown column", err, protocol.TableColumnNotFound)
	maps := arrow.NewSchema([]arrow.Field{{Name: "m", Type: arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64), Nullable: true}}, nil)
	_, err = enginetest.Create(t, maps, `[{"m":null}]`).Query(t.Context(), engine.AsOf{}, &query.Query{Order: []query.Order{asc("m")}})
	enginetest.WantCode(t, "maps", err, protocol.InvalidInput)
}

func TestSearchInAnotherOrder(t *testing.T) {
	table := points(t)
	two := int64(2)
	q := &query.Query{
		Nearest: &query.Nearest{Vectors: [][]float64{{0, 0}}}, Limit: &two, Offset: 1,
		Order: []query.Order{desc("id")}, Columns: []query.Column{{Name: "id"}},
	}
	// Of the nearest three, 0, 1 and 2, the last is skipped, since it is the first then.
	if got, want := ids(t, table, q), "1 0"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// points is a table of points with distance id² from the origin.
func points(t *testing.T) *engine.Table {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "vector", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32), Nullable: true},
	}, nil)
	rows := make([]string, 10)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"id":%d,"vector":[%d,0]}`, i, i)
	}
	return enginetest.Create(t, schema, "["+strings.Join(rows, ",")+"]")
}
