package grouping

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// A row is one of the source. nil is NULL.
type row struct {
	k *string
	i *int64
	f *float64
}

var schema = arrow.NewSchema([]arrow.Field{
	{Name: "k", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "i", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "f", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	{Name: snapshot.RowID, Type: arrow.PrimitiveTypes.Uint64},
}, nil)

func batchOf(rows []row, from int) arrow.RecordBatch {
	b := array.NewRecordBuilder(arrowmemory.DefaultAllocator, schema)
	for n, r := range rows {
		appendTo(b.Field(0).(*array.StringBuilder), r.k)
		appendTo(b.Field(1).(*array.Int64Builder), r.i)
		appendTo(b.Field(2).(*array.Float64Builder), r.f)
		b.Field(3).(*array.Uint64Builder).Append(uint64(idOf(from + n)))
	}
	return b.NewRecordBatch()
}

// idOf returns the id of the n-th row. Ids have another order than the rows.
func idOf(n int) int { return n * 37 % 101 }

func appendTo[T any](b interface {
	Append(v T)
	AppendNull()
}, v *T,
) {
	if v == nil {
		b.AppendNull()
		return
	}
	b.Append(*v)
}

func grouped(t interface{ Fatal(args ...any) }, key string, items ...string) *plan.Grouping {
	parse := func(text string) syntax.Expr {
		e, err := syntax.ParseGrouped(text)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	var all []syntax.Expr
	for _, item := range items {
		all = append(all, parse(item))
	}
	g, err := plan.BindGroups(context.Background(), []syntax.Expr{parse(key)}, all, schema)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

var calls = []string{
	"count(*)", "count(i)", "sum(i)", "avg(i)", "sum(f)", "min(f)", "max(k)", "array_agg(i)", "count(DISTINCT i)", "sum(DISTINCT i)",
	"array_agg(DISTINCT k)", "var_pop(i)", "median(i)", "bit_xor(i)", "bool_or(i > 0)", "count(*) FILTER (WHERE i > 2)",
}

func drawRows(t *rapid.T) []row {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) row {
		var r row
		if rapid.Bool().Draw(t, "k") {
			k := rapid.SampledFrom([]string{"", "a", "a\x00", "b", "longer than others"}).Draw(t, "text")
			r.k = &k
		}
		if rapid.Bool().Draw(t, "i") {
			i := rapid.Int64Range(-4, 4).Draw(t, "number")
			r.i = &i
		}
		if rapid.Bool().Draw(t, "f") {
			f := float64(rapid.IntRange(-8, 8).Draw(t, "quarters")) / 4
			r.f = &f
		}
		return r
	}), 0, 40).Draw(t, "rows")
}

// TestGroupsAreThoseOfTheirRows compares the groups with those that a loop over the rows makes, in memory
// and when all of them are written to the sorter again and again.
func TestGroupsAreThoseOfTheirRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := drawRows(t)
		g := grouped(t, "k", calls...)
		table := New(t.Context(), g)
		defer table.Close()
		if rapid.Bool().Draw(t, "short") {
			table.max = 0
		}
		for from := 0; from < len(rows); {
			n := min(rapid.IntRange(1, 7).Draw(t, "batch"), len(rows)-from)
			if err := table.Add(t.Context(), batchOf(rows[from:from+n], from)); err != nil {
				t.Fatal(err)
			}
			from += n
		}
		var got []string
		for batch, err := range table.Groups(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			for i := range int(batch.NumRows()) {
				var cells []string
				for c, column := range batch.Columns() {
					value := column.ValueStr(i)
					if f, ok := column.(*array.Float64); ok && f.IsValid(i) {
						value = short(f.Value(i))
					}
					cells = append(cells, batch.ColumnName(c)+"="+value)
				}
				got = append(got, strings.Join(cells, " "))
			}
		}
		want := modelOf(rows)
		sort.Strings(got)
		sort.Strings(want)
		if !slices.Equal(got, want) {
			t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// short returns a float without its last digits, which depend on the order of sums.
func short(f float64) string { return fmt.Sprintf("%.9g", f+0) }

// modelOf computes the groups of rows in the plainest way, as text.
func modelOf(rows []row) []string {
	type part struct {
		rows   []row
		lowest int
	}
	null := "(null)"
	parts := map[string]*part{}
	for n, r := range rows {
		key := null
		if r.k != nil {
			key = "=" + *r.k
		}
		if parts[key] == nil {
			parts[key] = &part{}
		}
		parts[key].rows = append(parts[key].rows, r)
		if id := idOf(n); len(parts[key].rows) == 1 || id < parts[key].lowest {
			parts[key].lowest = id
		}
	}
	var out []string
	for key, p := range parts {
		out = append(out, fmt.Sprintf("key0=%s %s _rowid=%d", strings.TrimPrefix(key, "="), model(p.rows), p.lowest))
	}
	return out
}

func model(rows []row) string {
	or := func(ok bool, v any) string {
		if !ok {
			return "(null)"
		}
		if f, ok := v.(float64); ok {
			return short(f)
		}
		return fmt.Sprint(v)
	}
	var is []int64
	var fs []float64
	texts, items, values := map[string]bool{}, []string{}, map[int64]bool{}
	greatest, hasText := "", false
	sum, xor, big, some := int64(0), int64(0), 0, false
	for _, r := range rows {
		item := "null"
		if r.i != nil {
			is = append(is, *r.i)
			sum, xor, values[*r.i] = sum+*r.i, xor^*r.i, true
			item = fmt.Sprint(*r.i)
			some = some || *r.i > 0
			if *r.i > 2 {
				big++
			}
		}
		items = append(items, item)
		if r.f != nil {
			fs = append(fs, *r.f)
		}
		if r.k != nil {
			greatest, hasText = max(greatest, *r.k), true
			texts[fmt.Sprintf("%q", *r.k)] = true
		} else {
			texts[""] = true
		}
	}
	distinct := int64(0)
	for v := range values {
		distinct += v
	}
	total, least := 0.0, math.Inf(1)
	for _, f := range fs {
		total, least = total+f, min(least, f)
	}
	n := float64(len(is))
	mean, m2 := float64(sum)/n, 0.0
	for _, i := range is {
		m2 += (float64(i) - mean) * (float64(i) - mean)
	}
	slices.Sort(is)
	median := 0.0
	if len(is) > 0 {
		median = float64(is[(len(is)-1)/2]+is[len(is)/2]) / 2
	}
	var lists []string
	for _, text := range slices.Sorted(maps.Keys(texts)) {
		if text == "" {
			text = "null"
		}
		lists = append(lists, text)
	}
	cells := []string{
		fmt.Sprint(len(rows)), fmt.Sprint(len(is)), or(len(is) > 0, sum), or(len(is) > 0, mean), or(len(fs) > 0, total), or(len(fs) > 0, least), or(hasText, greatest),
		"[" + strings.Join(items, ",") + "]", fmt.Sprint(len(values)), or(len(is) > 0, distinct), "[" + strings.ReplaceAll(strings.Join(lists, ","), `\x00`, `\u0000`) + "]",
		or(len(is) > 0, m2/n), or(len(is) > 0, median), or(len(is) > 0, xor), or(len(is) > 0, some), fmt.Sprint(big),
	}
	for i := range cells {
		cells[i] = fmt.Sprintf("call%d=%s", i, cells[i])
	}
	return strings.Join(cells, " ")
}

func TestTableSpillsMoreGroupsThanMemoryHolds(t *testing.T) {
	const most, keys, times = 24 << 20, 60_000, 3
	budget := memory.NewBudget(most, most)
	share := budget.Open()
	defer share.Close()
	ctx := memory.WithShare(t.Context(), share)
	g := grouped(t, "i", "count(*)", "sum(f)", "max(k)")
	table := New(ctx, g)
	defer table.Close()
	half := 0.5
	for range times {
		for from := 0; from < keys; from += 500 {
			rows := make([]row, 500)
			for n := range rows {
				i := int64(from + n)
				k := fmt.Sprintf("%0200d", i)
				rows[n] = row{k: &k, i: &i, f: &half}
			}
			inPart, part, err := memory.Within(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if err := table.Add(inPart, batchOf(rows, from)); err != nil {
				t.Fatal(err)
			}
			part.Close()
		}
	}
	if table.sorter == nil || table.sorter.Spilled() == 0 {
		t.Error("nothing was written to a file, so the test shows nothing")
	}
	seen := 0
	for batch, err := range table.Groups(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(batch.NumRows()) {
			if batch.Column(1).(*array.Int64).Value(i) != times || batch.Column(2).(*array.Float64).Value(i) != times*half {
				t.Fatalf("group %s: got %s rows with the sum %s", batch.Column(0).ValueStr(i), batch.Column(1).ValueStr(i), batch.Column(2).ValueStr(i))
			}
		}
		seen += int(batch.NumRows())
	}
	if seen != keys {
		t.Errorf("got %d groups, want %d", seen, keys)
	}
	if table.Close(); share.Held() != 0 {
		t.Errorf("%d bytes are still held", share.Held())
	}
}

func TestGroupsLookAtTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	g := grouped(t, "k", "count(*)")
	table := New(ctx, g)
	defer table.Close()
	cancel()
	if err := table.Add(ctx, batchOf(make([]row, 3), 0)); err == nil {
		t.Error("rows were added after the context had ended")
	}
}

// A list of NULLs has a key of one byte for each, and an array of their whole width. It is refused before that is made.
func TestWideListsAreRefusedBeforeTheyAreMade(t *testing.T) {
	const most, rows, width = 64 << 20, 20_000, 100_000
	wide := arrow.NewSchema([]arrow.Field{
		{Name: "k", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "w", Type: &arrow.FixedSizeBinaryType{ByteWidth: width}, Nullable: true},
		{Name: snapshot.RowID, Type: arrow.PrimitiveTypes.Uint64},
	}, nil)
	key, err := syntax.ParseGrouped("k")
	if err != nil {
		t.Fatal(err)
	}
	list, err := syntax.ParseGrouped("array_agg(w)")
	if err != nil {
		t.Fatal(err)
	}
	g, err := plan.BindGroups(t.Context(), []syntax.Expr{key}, []syntax.Expr{list}, wide)
	if err != nil {
		t.Fatal(err)
	}
	share := memory.NewBudget(most, most).Open()
	defer share.Close()
	ctx := memory.WithShare(t.Context(), share)
	table := New(ctx, g)
	defer table.Close()
	const batch = 100
	for range rows / batch {
		ids := array.NewUint64Builder(arrowmemory.DefaultAllocator)
		ids.AppendValues(make([]uint64, batch), nil)
		inPart, part, err := memory.Within(ctx)
		if err != nil {
			t.Fatal(err)
		}
		columns := []arrow.Array{take.Nulls(wide.Field(0).Type, batch), take.Nulls(wide.Field(1).Type, batch), ids.NewArray()}
		if err := table.Add(inPart, array.NewRecordBatch(wide, columns, batch)); err != nil {
			t.Fatal(err)
		}
		part.Close()
	}
	for _, err := range table.Groups(ctx) {
		if !memory.TooMuch(err) {
			t.Errorf("got %v, want a refusal", err)
		}
	}
}
