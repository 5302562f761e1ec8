package plan_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

func bindExpr(t *testing.T, src string, s *arrow.Schema) *plan.Bound {
	t.Helper()
	e, err := syntax.Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	b, err := plan.Bind(t.Context(), e, s, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBindNamesWhatIsWrong(t *testing.T) {
	schema := namedTable(t, "edges").Schema()
	cases := []struct {
		in   string
		kind error
		pos  int
		text string
	}{
		{"i32 > nosuch", sql.ErrUnknownColumn, 6, `no column "nosuch"; there are "id", "i8"`},
		{"`I32` > 1", sql.ErrUnknownColumn, 0, `no column "I32"`},
		{"upper(S) = 'A'", sql.ErrUnknownColumn, 6, `no column "S"`},
		{"st.nosuch = 1", sql.ErrUnknownColumn, 0, `no member "nosuch" of st; there are "a", "B b", "in"`},
		{"st.A = 1", sql.ErrUnknownColumn, 0, `no member "A"`},
		{"i32.a = 1", sql.ErrType, 0, "not a struct"},
		{"i32 > 3.5", sql.ErrType, 6, "literal of type float64 cannot stand for int32"},
		{"u8 = -1", sql.ErrType, 5, "cannot stand for uint8"},
		{"s = 5", sql.ErrType, 4, "cannot stand for utf8"},
		{"dec > 1.5", sql.ErrType, 6, "cannot stand for decimal(7, 2)"},
		{"f16 = 70000", sql.ErrType, 6, "cannot stand for float16"},
		{"i32 = b", sql.ErrType, 4, "= does not take int32, bool"},
		{"i32 AND b", sql.ErrType, 4, "AND does not take int32, bool"},
		{"s + 1 = 2", sql.ErrType, 2, "+ does not take utf8, int64"},
		{"-u8 = 1", sql.ErrType, 0, "- does not take uint8"},
		{"i32 LIKE 'a'", sql.ErrType, 4, "LIKE does not take int32, utf8"},
		{"i32 || i32 = 'a'", sql.ErrType, 4, "||"},
		{"upper(i32) = 'A'", sql.ErrType, 0, "upper does not take int32"},
		{"upper(s, s) = 'A'", sql.ErrType, 0, "upper does not take 2 arguments"},
		{"array_has(i32, 1)", sql.ErrType, 0, "array_has does not take int32, int64"},
		{"i32", sql.ErrType, 0, "must be of type bool, not int32"},
		{"NULL", sql.ErrType, 0, "must be of type bool"},
		{"with_metadata(bin, s, s) = 1", sql.ErrUnsupported, 0, "function with_metadata"},
		{"my_function(f64) = 1", sql.ErrUnsupported, 0, "function my_function"},
		{"CAST(i32 AS text) = '1'", sql.ErrUnsupported, 0, "type text"},
		{"CAST(i32 AS decimal(80, 2)) = 1", sql.ErrUnsupported, 0, "type decimal(80, 2)"},
		{"st < st", sql.ErrUnsupported, 3, "of struct"},
		{"CAST(b AS date) = d32", sql.ErrUnsupported, 0, "cast of bool to date32"},
		{"CAST('x' AS int) = i32", sql.ErrValue, 0, `"x" is not a value of type int32`},
		{"regexp_like(s, '(')", sql.ErrValue, 0, "missing closing )"},
		{"regexp_like(s, 'a', 'x')", sql.ErrUnsupported, 0, "flag x"},
		{"s LIKE 'a!%' ESCAPE '!'", sql.ErrUnsupported, 2, "ESCAPE"},
	}
	for _, c := range cases {
		e, err := syntax.Parse(c.in)
		if err == nil {
			_, err = plan.BindFilter(t.Context(), e, schema, time.Time{})
		}
		var got *sql.Error
		if !errors.As(err, &got) || !errors.Is(err, c.kind) || got.Pos != c.pos || !strings.Contains(got.Msg, c.text) {
			t.Errorf("%s: got %v, want %v at %d: …%s…", c.in, err, c.kind, c.pos, c.text)
		}
	}
}

// Nested operations that repeat their operands grow exponentially, so their size is limited.
func TestOperationsThatRepeatTheirOperandsAreBounded(t *testing.T) {
	schema := namedTable(t, "edges").Schema()
	for _, c := range []struct{ before, x, behind, compared string }{
		{"coalesce(", "i32", ", 1)", " = 1"},
		{"coalesce(", "f64", ", 1.0)", " = 1.0"},
		{"coalesce(", "b", ", true)", ""},
		{"nullif(", "i32", ", 1)", " = 1"},
		{"(", "b", " BETWEEN false AND true)", ""},
	} {
		for times, want := range map[int]error{3: nil, 60: sql.ErrTooLarge} {
			filter := strings.Repeat(c.before, times) + c.x + strings.Repeat(c.behind, times) + c.compared
			e, err := syntax.Parse(filter)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := plan.BindFilter(t.Context(), e, schema, time.Time{}); !errors.Is(err, want) {
				t.Errorf("%d of %s…%s: got error %v, want %v", times, c.before, c.behind, err, want)
			}
		}
	}
}

func TestBoundKnowsItsColumnsAndType(t *testing.T) {
	schema := namedTable(t, "edges").Schema()
	cases := []struct {
		in      string
		columns []string
		typ     string
	}{
		{"s = 'a' AND i32 > 3 OR id < 2", []string{"id", "i32", "s"}, "bool"},
		{"ST.a > 1 AND CASE2 = 3", []string{"st", "case2"}, "bool"},
		{"1 = 1", []string{}, "bool"},
		{"i32 > 3 OR true", []string{}, "bool"}, // the column does not matter
		{"i32 + 1", []string{"i32"}, "int32"},
		{"i8 + i16", []string{"i8", "i16"}, "int16"},
		{"u64 + i64", []string{"i64", "u64"}, "decimal(21, 0)"},
		{"dec * dec", []string{"dec"}, "decimal(15, 4)"},
		{"f32 / i64", []string{"i64", "f32"}, "float32"},
		{"s || ls", []string{"s", "ls"}, "large_utf8"},
		{"length(s)", []string{"s"}, "int32"},
		{"dict", []string{"dict"}, "utf8"},
		{"coalesce(i8, i64)", []string{"i8", "i64"}, "int64"},
		{"CAST('2024-01-31' AS timestamp)", []string{}, "timestamp[us]"},
		{"coalesce(CAST(s AS timestamp), NULL)", []string{"s"}, "timestamp[ns]"},
	}
	for _, c := range cases {
		b := bindExpr(t, c.in, schema)
		if diff := cmp.Diff(c.columns, b.Columns()); diff != "" {
			t.Errorf("%s: columns (-want +got):\n%s", c.in, diff)
		}
		if got := b.Type().String(); got != c.typ {
			t.Errorf("%s: got type %s, want %s", c.in, got, c.typ)
		}
	}
}

// The nullability that native Lance declares for the columns of a query's result.
func TestBoundKnowsWhetherItIsNullable(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "k", Type: arrow.PrimitiveTypes.Int64},
		{Name: "b", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
	}, nil)
	for in, want := range map[string]bool{
		"n + 1": true, "k + 1": false, "n IS NULL": false, "abs(k)": true, "k + n": true,
		"coalesce(n, 0)": false, "coalesce(n, 0) + 1": false, "nvl(n, n + 1)": true, "nvl2(n, 1, 2)": false, "coalesce(n)": true,
		"CASE WHEN b THEN 1 ELSE 2 END": false, "CASE WHEN b THEN 1 END": true, "CASE WHEN k IS NOT NULL THEN n ELSE 2 END": true,
		"coalesce(b, true)": true, "b IS NOT TRUE": true, "n IS NOT NULL AND k > 1": false, "NULL": true, "1": false,
	} {
		if got := bindExpr(t, in, schema).Nullable(); got != want {
			t.Errorf("%s: nullable is %v, want %v", in, got, want)
		}
	}
}

func TestListsOfAnythingHaveLengths(t *testing.T) {
	pair := arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32, Nullable: true})
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "pairs", Type: arrow.ListOf(pair), Nullable: true},
		{Name: "vectors", Type: arrow.ListOf(arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32)), Nullable: true},
	}, nil)
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(
		`[{"pairs":[{"x":1},null],"vectors":[[1,2]]},{"pairs":[],"vectors":[]},{"pairs":null,"vectors":null}]`))
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"array_length(pairs)": "[2 0 (null)]", "list_length(vectors)": "[1 0 (null)]",
		"empty(pairs)": "[false true (null)]", "empty(vectors)": "[false true (null)]",
	} {
		if got, err := bindExpr(t, in, schema).Eval(t.Context(), rec); err != nil || got.String() != want {
			t.Errorf("%s: got %v, %v; want %s", in, got, err, want)
		}
	}
}

// TestEvalComputesValues covers values, because the golden filters only show whether a row is TRUE.
func TestEvalComputesValues(t *testing.T) {
	rec := namedTable(t, "edges")
	cases := []struct{ in, want string }{
		{"i8 + 1", "[-127 0 1 2 6 -128 (null) 3 4 5 8 101]"}, // wraps around in the type of the column
		{"i32 % 3", "[-2 -1 0 1 2 1 (null) 2 0 1 1 1]"},
		{"i16 / 2", "[-16384 0 0 0 2 16383 (null) 1 1 2 3 50]"},
		{"i32 > 3", "[false false false false true true (null) false false true true true]"},
		{"b AND i32 > 3", "[false false false false false (null) (null) false false true false (null)]"},
		{"b OR i32 > 3", "[true false (null) true true true true false (null) true true true]"},
		{"NOT b", "[false true (null) false true (null) false true (null) false true (null)]"},
		{"b IS NOT TRUE", "[false true true false true true false true true false true true]"},
		{"i32 IN (5, NULL)", "[(null) (null) (null) (null) true (null) (null) (null) (null) (null) (null) (null)]"},
		{"st.a", "[0 1 (null) 3 4 5 6 (null) 8 9 10 11]"},
		{"dec / 2", "[750000 -750000 0 1245000 1250000 1500000 (null) 49995000 500000 5000000 5000 -5000]"},
		{"upper(s)", `["A" "A" "ABC" "ABC" "" (null) "A%B" "A_B" "SS" "10" "9" "FOO\nBAR"]`},
		{"length(s)", "[1 1 3 3 0 (null) 3 3 1 2 1 7]"},
		{"TRY_CAST(s AS int)", "[(null) (null) (null) (null) (null) (null) (null) (null) (null) 10 9 (null)]"},
		{"coalesce(CASE WHEN i32 > 3 THEN 'big' WHEN b THEN s END, 'else')", `["a" "else" "else" "Abc" "big" "big" "a%b" "else" "else" "big" "big" "big"]`},
		{"regexp_match(s, '(a)(b)?')", `[["a"] (null) ["a" "b"] (null) (null) (null) ["a"] ["a"] (null) (null) (null) ["a"]]`},
		{"'x' || 'y'", `["xy" "xy" "xy" "xy" "xy" "xy" "xy" "xy" "xy" "xy" "xy" "xy"]`},
		{"NULL", "[(null) (null) (null) (null) (null) (null) (null) (null) (null) (null) (null) (null)]"},
		{"li", "[[1 2] [] (null) [(null)] [3 1] [5] [1 2] [] (null) [(null)] [3 1] [5]]"},
	}
	for _, c := range cases {
		b := bindExpr(t, c.in, rec.Schema())
		arr, err := b.Eval(t.Context(), rec)
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		got := arr.String()
		if d, ok := arr.(*array.Decimal128); ok {
			got = decimalsString(d)
		}
		if got != c.want || !arrow.TypeEqual(arr.DataType(), b.Type()) {
			t.Errorf("%s: got %s of type %s, want %s of type %s", c.in, got, arr.DataType(), c.want, b.Type())
		}
	}
}

func decimalsString(d *array.Decimal128) string {
	parts := make([]string, d.Len())
	for i := range parts {
		parts[i] = "(null)"
		if d.IsValid(i) {
			parts[i] = d.Value(i).BigInt().String()
		}
	}
	return "[" + strings.Join(parts, " ") + "]"
}

func TestEvalOfNoRowsComputesNothing(t *testing.T) {
	rec := namedTable(t, "edges").NewSlice(3, 3)
	for _, in := range []string{"1 / 0 = 1", "s = 'a'", "upper(s)", "li", "i32 + 1", "[1, 2]", "st", "st.in"} {
		b := bindExpr(t, in, rec.Schema())
		arr, err := b.Eval(t.Context(), rec)
		if err != nil || arr.Len() != 0 || !arrow.TypeEqual(arr.DataType(), b.Type()) {
			t.Errorf("%s: got %v, %v; want no values of type %s", in, arr, err, b.Type())
		}
	}
}

func TestErrorsCountForTheRowsThatReachThem(t *testing.T) {
	rec := namedTable(t, "edges")
	fine := []string{
		"i64 <> 0 AND 10 / i64 > 2",
		"i64 = 0 OR 10 / i64 > 2",
		"NOT (i64 = 0 OR 10 / i64 > 2)",
		"coalesce(CASE WHEN i64 = 0 THEN 0 ELSE 10 / i64 END, 1) = 1",
		"s IN ('10', '9') AND CAST(s AS int) > 9",
		"i32 > -2147483648 AND abs(i32) > 3",
		"i32 IS NULL AND 1 / 0 = 1 AND i32 = 1",
		"false AND 1 / 0 = 1",
	}
	for _, in := range fine {
		if _, err := selectRows(in, rec); err != nil && in != fine[6] {
			t.Errorf("%s: got error %v, want none", in, err)
		}
	}
	failing := []string{"10 / i64 > 2", "10 % i64 > 2", "i64 / -1 > 0", "abs(i32) > 3", "CAST(s AS int) + 0 > 9",
		"CAST(f64 AS int) + 0 > 9", "dec / 0 = 1", "i64 = 0 AND 10 / i64 > 2", "1 / 0 = 1", "-CAST(i32 AS smallint) = 1"}
	for _, in := range failing {
		if _, err := selectRows(in, rec); !errors.Is(err, sql.ErrValue) {
			t.Errorf("%s: got error %v, want %v", in, err, sql.ErrValue)
		}
	}
}

func TestEvalChecksTheBatch(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int32}}, nil)
	b := bindExpr(t, "a = 1", schema)
	batch := func(name string, typ arrow.DataType) arrow.RecordBatch {
		col := array.MakeArrayOfNull(memory.DefaultAllocator, typ, 2)
		return array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: name, Type: typ}}, nil), []arrow.Array{col}, 2)
	}
	if _, err := b.Eval(t.Context(), batch("b", arrow.PrimitiveTypes.Int32)); !errors.Is(err, sql.ErrUnknownColumn) {
		t.Errorf("missing column: got %v, want %v", err, sql.ErrUnknownColumn)
	}
	if _, err := b.Eval(t.Context(), batch("a", arrow.PrimitiveTypes.Int64)); !errors.Is(err, sql.ErrType) {
		t.Errorf("column of another type: got %v, want %v", err, sql.ErrType)
	}
	if _, err := b.Select(t.Context(), batch("a", arrow.PrimitiveTypes.Int32), nil); err != nil {
		t.Errorf("right column: %v", err)
	}
	if _, err := bindExpr(t, "a", schema).Select(t.Context(), batch("a", arrow.PrimitiveTypes.Int32), nil); !errors.Is(err, sql.ErrType) {
		t.Errorf("selecting by a number: got %v, want %v", err, sql.ErrType)
	}
}

func TestExpressionsOverNoRowsKeepTheirTypes(t *testing.T) {
	types := []arrow.DataType{
		arrow.Null, arrow.BinaryTypes.LargeString, arrow.ListOf(arrow.StructOf(arrow.Field{Name: "n", Type: arrow.Null, Nullable: true})),
		arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32),
		arrow.StructOf(arrow.Field{Name: "n", Type: arrow.Null, Nullable: true}, arrow.Field{
			Name: "d", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.LargeString}, Nullable: true,
		}),
	}
	for _, typ := range types {
		field := arrow.Field{Name: "s", Type: arrow.StructOf(arrow.Field{Name: "m", Type: typ, Nullable: true})}
		schema := arrow.NewSchema([]arrow.Field{field}, nil)
		rec := array.NewRecordBatch(schema, []arrow.Array{plan.NoValues(field.Type)}, 0)
		got, err := bindExpr(t, "s.m", schema).Eval(t.Context(), rec)
		if err != nil || got.Len() != 0 || !arrow.TypeEqual(got.DataType(), typ) {
			t.Errorf("%s: got %v and error %v", typ, got, err)
		}
	}
}

func TestBoundMayBeUsedByManyAtOnce(t *testing.T) {
	rec := namedTable(t, "edges")
	b := bindExpr(t, `regexp_like(s, '\w') AND s LIKE '%a%' AND i32 IN (0, 1, 2, 3, 4, 5)`, rec.Schema())
	want, err := b.Select(t.Context(), rec, nil)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got, err := b.Select(t.Context(), rec, nil); err != nil || !cmp.Equal(got, want) {
				t.Errorf("got %v, %v; want %v", got, err, want)
			}
		})
	}
	wg.Wait()
}

func TestDictionariesAreTheirValues(t *testing.T) {
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.PrimitiveTypes.Int64}
	b := array.NewDictionaryBuilder(memory.DefaultAllocator, typ).(*array.Int64DictionaryBuilder)
	for _, v := range []int64{5, 7, 5} {
		if err := b.Append(v); err != nil {
			t.Fatal(err)
		}
	}
	b.AppendNull()
	schema := arrow.NewSchema([]arrow.Field{{Name: "d", Type: typ, Nullable: true}}, nil)
	rec := array.NewRecordBatch(schema, []arrow.Array{b.NewArray()}, 4)
	got, err := selectRows("d = 5", rec)
	if want := []int32{0, 2}; err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

func ExampleBound_Select() {
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	col := array.NewInt64Builder(memory.DefaultAllocator)
	col.AppendValues([]int64{4, 0, 7, 5}, nil)
	rec := array.NewRecordBatch(schema, []arrow.Array{col.NewArray()}, 4)

	e, err := syntax.Parse("N <> 0 AND 20 / N >= 4")
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := plan.BindFilter(context.Background(), e, schema, time.Time{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(b.Columns())
	fmt.Println(b.Select(context.Background(), rec, nil))
	// Output:
	// [n]
	// [0 3] <nil>
}

func TestDictionariesInListsAreTheirValues(t *testing.T) {
	item := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	word := arrow.BinaryTypes.String
	for _, types := range [][2]arrow.DataType{
		{arrow.ListOf(item), arrow.ListOf(word)},
		{arrow.LargeListOf(item), arrow.LargeListOf(word)},
		{arrow.FixedSizeListOf(2, item), arrow.FixedSizeListOf(2, word)},
		{arrow.ListOfNonNullable(item), arrow.ListOfNonNullable(word)},
	} {
		schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: types[0], Nullable: true}}, nil)
		rec := recordOf(t, schema, `[{"x":["a","b"]},{"x":null},{"x":["b","b"]}]`)
		for _, expression := range []string{"x", "coalesce(x, x)", "CASE WHEN x IS NULL THEN x ELSE x END"} {
			got, err := bindExpr(t, expression, schema).Eval(t.Context(), rec)
			if err != nil || !arrow.TypeEqual(got.DataType(), types[1]) || got.String() != `[["a" "b"] (null) ["b" "b"]]` {
				t.Errorf("%s of %s: got %v, %v", expression, types[0], got, err)
			}
		}
		got, err := selectRows("x[1] = 'a' OR array_has(x, 'a')", rec)
		if want := []int32{0}; err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: got rows %v, %v; want %v", types[0], got, err, want)
		}
	}
}

func TestStructsWithDictionariesAreNotCopied(t *testing.T) {
	item := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	for _, member := range []arrow.DataType{item, arrow.ListOf(item)} {
		of := arrow.StructOf(arrow.Field{Name: "a", Type: member, Nullable: true})
		schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.ListOf(of), Nullable: true}}, nil)
		rec := recordOf(t, schema, `[{"x":[{"a":null},null]}]`)
		if got, err := bindExpr(t, "coalesce(x, x)", schema).Eval(t.Context(), rec); !errors.Is(err, sql.ErrUnsupported) {
			t.Errorf("%s: got %v, %v; want that it is unsupported", member, got, err)
		}
		if got, err := bindExpr(t, "x", schema).Eval(t.Context(), rec); err != nil || got.Len() != 1 {
			t.Errorf("%s: got %v, %v", member, got, err)
		}
	}
}

func recordOf(t *testing.T, schema *arrow.Schema, rows string) arrow.RecordBatch {
	t.Helper()
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	return rec
}
