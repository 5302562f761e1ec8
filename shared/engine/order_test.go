package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/protocol"
)

func asc(column string) protocol.OrderBy { return protocol.OrderBy{ColumnName: column} }

func desc(column string) protocol.OrderBy {
	no := false
	return protocol.OrderBy{ColumnName: column, Ascending: &no}
}

func nullsFirst(o protocol.OrderBy) protocol.OrderBy {
	o.NullsFirst = true
	return o
}

// sortable is a table with a column of each kind of order.
func sortable(t *testing.T) *Table {
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
	return create(t, schema, `[
		{"id":0,"a":3,"u":200,"f":1e300,"s":"b","b":true,"day":"1969-12-31","dec":"-1.00","l":[1,2],"st":{"x":2}},
		{"id":1,"a":-1,"u":5,"f":-0.5,"s":"a","b":false,"day":"2024-01-01","dec":"10.00","l":[1],"st":{"x":1}},
		{"id":2,"a":null,"u":null,"f":null,"s":null,"b":null,"day":null,"dec":null,"l":null,"st":null},
		{"id":3,"a":2,"u":0,"f":0,"s":"","b":true,"day":"2023-05-05","dec":"9.50","l":[],"st":{"x":null}},
		{"id":4,"a":-1,"u":6,"f":-1e300,"s":"a\u0000","b":false,"day":"1900-01-01","dec":"-99.00","l":[1,null],"st":{"x":3}}]`)
}

func TestRowsAreOrderedBySeveralKeys(t *testing.T) {
	table := sortable(t)
	for _, c := range []struct {
		by   []protocol.OrderBy
		want string
	}{
		{[]protocol.OrderBy{asc("a")}, "1 4 3 0 2"},
		{[]protocol.OrderBy{desc("a")}, "0 3 1 4 2"},
		{[]protocol.OrderBy{nullsFirst(asc("a"))}, "2 1 4 3 0"},
		{[]protocol.OrderBy{nullsFirst(desc("a"))}, "2 0 3 1 4"},
		{[]protocol.OrderBy{asc("a"), desc("id")}, "4 1 3 0 2"},
		{[]protocol.OrderBy{asc("b"), asc("s")}, "1 4 3 0 2"},
		{[]protocol.OrderBy{asc("u")}, "3 1 4 0 2"},
		{[]protocol.OrderBy{asc("f")}, "4 1 3 0 2"},
		{[]protocol.OrderBy{asc("s")}, "3 1 4 0 2"},
		{[]protocol.OrderBy{desc("s")}, "0 4 1 3 2"},
		{[]protocol.OrderBy{asc("day")}, "4 0 3 1 2"},
		{[]protocol.OrderBy{asc("dec")}, "4 0 3 1 2"},
		{[]protocol.OrderBy{asc("l")}, "3 1 0 4 2"},
		{[]protocol.OrderBy{asc("st")}, "1 0 4 3 2"},
		{[]protocol.OrderBy{asc("st.x")}, "1 0 4 2 3"},
		{[]protocol.OrderBy{desc("_rowid")}, "4 3 2 1 0"},
	} {
		req := &protocol.QueryTableRequest{OrderBy: c.by, Columns: protocol.Projection{{Name: "id"}}}
		if got := ids(t, table, req); got != c.want {
			t.Errorf("order by %s: got %s, want %s", names(c.by), got, c.want)
		}
		for offset := range int64(6) {
			for k := int64(1); k < 6; k++ {
				req.Offset, req.K = offset, &k
				all := strings.Fields(c.want)
				from := min(int(offset), len(all))
				want := strings.Join(all[from:min(from+int(k), len(all))], " ")
				if got := ids(t, table, req); got != want {
					t.Errorf("order by %s, offset %d, k %d: got %s, want %s", names(c.by), offset, k, got, want)
				}
			}
		}
	}
}

// names returns the orders as an error message has them.
func names(by []protocol.OrderBy) string { return fmt.Sprintf("%+v", by) }

// ids runs a query for ids and returns them.
func ids(t *testing.T, table *Table, req *protocol.QueryTableRequest) string {
	t.Helper()
	lines := show(t, table, req)
	for i, line := range lines {
		id, _, _ := strings.Cut(line, " ")
		lines[i] = strings.TrimPrefix(id, "id=")
	}
	return strings.Join(lines, " ")
}

func TestOrderByOfAFilterAndOfExpressions(t *testing.T) {
	table := sortable(t)
	req := &protocol.QueryTableRequest{
		OrderBy: []protocol.OrderBy{desc("s")}, Filter: "a < 3",
		Columns: protocol.Projection{{Name: "twice", Expression: "id * 2"}},
	}
	want := []string{"twice=8", "twice=2", "twice=6"}
	if diff := cmp.Diff(want, show(t, table, req)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOrderByWhatIsNotThereOrHasNoOrder(t *testing.T) {
	_, err := sortable(t).Query(t.Context(), &protocol.QueryTableRequest{OrderBy: []protocol.OrderBy{asc("nope")}})
	wantCode(t, "unknown column", err, protocol.TableColumnNotFound)
	maps := arrow.NewSchema([]arrow.Field{{Name: "m", Type: arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64), Nullable: true}}, nil)
	_, err = create(t, maps, `[{"m":null}]`).Query(t.Context(), &protocol.QueryTableRequest{OrderBy: []protocol.OrderBy{asc("m")}})
	wantCode(t, "maps", err, protocol.InvalidInput)
}

func TestSearchInAnotherOrder(t *testing.T) {
	table := points(t)
	two := int64(2)
	req := &protocol.QueryTableRequest{
		Vector: protocol.QueryVector{Vectors: [][]float64{{0, 0}}}, K: &two, Offset: 1,
		OrderBy: []protocol.OrderBy{desc("id")}, Columns: protocol.Projection{{Name: "id"}},
	}
	// Of the nearest three, 0, 1 and 2, the last is skipped, since it is the first then.
	if got, want := ids(t, table, req), "1 0"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// points is a table of points with distance id² from the origin.
func points(t *testing.T) *Table {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "vector", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32), Nullable: true},
	}, nil)
	rows := make([]string, 10)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"id":%d,"vector":[%d,0]}`, i, i)
	}
	return create(t, schema, "["+strings.Join(rows, ",")+"]")
}
