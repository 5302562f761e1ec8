package plan_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/sqltest"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// namedTable returns one of the tables of the golden files: edges, random or calls.
func namedTable(t testing.TB, name string) arrow.RecordBatch {
	t.Helper()
	if name == "calls" {
		return sqltest.Table(t)
	}
	return sqltest.ReadTable(t, "testdata/"+name+".arrow")
}

type goldenCase struct {
	Filter string
	Rows   []int32
	Error  bool
}

// goldenCounts has the number of cases in each golden file: those that native Lance answers and those that
// it refuses. A case that disappears from a file fails the tests that read it. New cases must be counted
// here.
var goldenCounts = map[string]struct{ answered, refused int }{
	"edges.jsonl":  {556, 140},
	"random.jsonl": {216, 28},
}

// checkGoldenCount fails the test unless a golden file has the cases it should have.
func checkGoldenCount(t testing.TB, name string, cases, refused int) {
	t.Helper()
	want := goldenCounts[name]
	if answered := cases - refused; answered != want.answered || refused != want.refused {
		t.Fatalf("testdata/%s has %d answered and %d refused cases, want %d and %d", name, answered, refused, want.answered, want.refused)
	}
}

// readGolden returns the cases of a file of testdata, such as edges.jsonl, in their order.
func readGolden(t testing.TB, name string) []goldenCase {
	t.Helper()
	var cases []goldenCase
	refused := 0
	for _, line := range readLines(t, name) {
		var c goldenCase
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		if c.Error {
			refused++
		}
		cases = append(cases, c)
	}
	checkGoldenCount(t, name, len(cases), refused)
	return cases
}

// callsOfAllPackages returns the expressions whose values the packages below shared/sql compare.
func callsOfAllPackages(t testing.TB) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"testdata/calls.sql", "../internal/*/testdata/calls.sql", "../internal/fn/*/testdata/calls.sql"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 9 {
		t.Fatalf("found only %v", files)
	}
	var calls []string
	for _, file := range files {
		for _, c := range sqltest.ReadCalls(t, file) {
			calls = append(calls, c.Expr)
		}
	}
	return calls
}

// readLines returns the lines of a file of testdata that are not empty.
func readLines(t testing.TB, name string) []string {
	t.Helper()
	return sqltest.ReadLines(t, "testdata/"+name)
}

func TestFiltersOfTheListHaveAnswers(t *testing.T) {
	var answered []string
	for _, c := range readGolden(t, "edges.jsonl") {
		answered = append(answered, c.Filter)
	}
	if diff := cmp.Diff(readLines(t, "edges.sql"), answered); diff != "" {
		t.Errorf("filters (-edges.sql +edges.jsonl):\n%s", diff)
	}
}

// selectRows parses, binds and evaluates a filter.
func selectRows(filter string, rec arrow.RecordBatch) ([]int32, error) {
	e, err := syntax.Parse(filter)
	if err != nil {
		return nil, err
	}
	b, err := plan.BindFilter(context.Background(), e, rec.Schema(), time.Time{})
	if err != nil {
		return nil, err
	}
	return b.Select(context.Background(), rec, nil)
}

func TestSelectsTheRowsOfTheNativeLance(t *testing.T) {
	for _, table := range []string{"edges", "random"} {
		rec := namedTable(t, table)
		for _, c := range readGolden(t, table+".jsonl") {
			t.Run(table+"/"+c.Filter, func(t *testing.T) {
				got, err := selectRows(c.Filter, rec)
				if c.Error {
					var e *sql.Error
					if !errors.As(err, &e) {
						t.Fatalf("got rows %v, error %v; want an *Error", got, err)
					}
					return
				}
				if err != nil {
					t.Fatalf("got error %v, want rows %v", err, c.Rows)
				}
				if diff := cmp.Diff(c.Rows, got); diff != "" {
					t.Errorf("rows (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestSelectsTheSameRowsFromPieces evaluates filters on slices of a table whose bitmaps begin in the middle
// of a byte, and with only the columns that the filter names.
func TestSelectsTheSameRowsFromPieces(t *testing.T) {
	rec := namedTable(t, "random")
	for _, c := range readGolden(t, "random.jsonl") {
		if c.Error {
			continue
		}
		e, err := syntax.Parse(c.Filter)
		if err != nil {
			t.Fatal(err)
		}
		b, err := plan.BindFilter(t.Context(), e, rec.Schema(), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		needed := project(rec, b.Columns())
		got := []int32{}
		for start := int64(0); start < rec.NumRows(); start += 13 {
			piece := needed.NewSlice(start, min(start+13, rec.NumRows()))
			rows, err := b.Select(t.Context(), piece, nil)
			if err != nil {
				t.Fatalf("%s: %v", c.Filter, err)
			}
			for _, r := range rows {
				got = append(got, r+int32(start))
			}
		}
		if diff := cmp.Diff(c.Rows, got); diff != "" {
			t.Errorf("%s: rows (-want +got):\n%s", c.Filter, diff)
		}
	}
}

// Rows that do not count are not found, and nothing is wrong with them.
func TestSelectPassesOverOtherRows(t *testing.T) {
	rec := namedTable(t, "edges")
	n := int(rec.NumRows())
	for _, filter := range []string{
		"10 / i64 > 2", "i32 >= 0 OR i32 IS NULL", "i32 IN (1, 5, 7)", "s LIKE '%a%'", "NOT (i64 = 0)", "10 / i64 = 2 OR s = 'a'",
		"coalesce(i32, 1) > 0", "true", "i32 > 0 AND i64 < 5",
	} {
		b := bindExpr(t, filter, rec.Schema())
		good, want := column.NewBitset(n), []int32{}
		for i := range n {
			if i%3 == 1 {
				continue
			}
			rows, err := b.Select(t.Context(), rec.NewSlice(int64(i), int64(i)+1), nil)
			if err != nil {
				continue
			}
			good.Set(i)
			if len(rows) > 0 {
				want = append(want, int32(i))
			}
		}
		got, err := b.Select(t.Context(), rec, good)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v, rows (-want +got):\n%s", filter, err, diff)
		}
	}
}

// project returns a batch of some columns, in another order than they had.
func project(rec arrow.RecordBatch, names []string) arrow.RecordBatch {
	var fields []arrow.Field
	var columns []arrow.Array
	for i := len(names) - 1; i >= 0; i-- {
		at := rec.Schema().FieldIndices(names[i])[0]
		fields = append(fields, rec.Schema().Field(at))
		columns = append(columns, rec.Column(at))
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, rec.NumRows())
}

func TestDiffersFromTheNativeLanceOnPurpose(t *testing.T) {
	rec := namedTable(t, "edges")
	cases := []struct {
		name   string
		filter string
		rows   []int32
		err    error
	}{
		// The native Lance refuses these.
		{"case outside of calls", "CASE WHEN i32 > 3 THEN true ELSE false END", []int32{4, 5, 9, 10, 11}, nil},
		{"function with words outside of calls", "substring(s from 1 for 1) = 'a'", []int32{0, 2, 6, 7}, nil},
		{"part of a date outside of calls", "extract(day from d32) = 3", []int32{2}, nil},
		{"interval outside of calls", "d32 + interval '1 month' > date '2024-02-10'", []int32{10, 11}, nil},
		{"bits outside of calls", "i64 & 4 = 4", []int32{1, 4, 5, 9, 10, 11}, nil},
		{"list of columns outside of calls", "array_length([i8, i16]) = 2 AND i32 = 5", []int32{4}, nil},
		{"guarded division", "i32 = 5 AND 10 / i64 = 2", []int32{4}, nil},
		{"division guarded for some rows", "i32 > 0 AND 10 / i64 = 2", []int32{4, 9}, nil},
		// Native Lance ignores text after an expression.
		{"words after the filter", "i32 > 3 ORDER BY i32", nil, sql.ErrSyntax},
		{"bracket after the filter", "i32 = 5)", nil, sql.ErrSyntax},
		{"semicolons after the filter", "i32 > 3;; ", []int32{4, 5, 9, 10, 11}, nil},
		{"statement after the filter", "i32 > 3; DROP TABLE t", nil, sql.ErrSyntax},
		{"number with underscore", "i32 = 1_000", nil, sql.ErrSyntax},
		{"number without exponent", "i32 = 1e", nil, sql.ErrSyntax},
		// It takes this for NULL.
		{"hexadecimal that is none", "X'zz' = bin", nil, sql.ErrSyntax},
		// It makes LIKE of such expressions and forgets that \ has a meaning there.
		{"backslash in a regular expression", `regexp_like(ls, 'foo\\bar')`, []int32{11}, nil},
		// It can do these.
		{"words of a column", "contains_tokens(s, ls)", nil, sql.ErrUnsupported},
		{"half as text", "CAST(f16 AS string) = '1'", nil, sql.ErrUnsupported},
		{"order of lists", "li < [1, 2]", nil, sql.ErrUnsupported},
		{"part of a duration", "date_part('day', dur) = 1", nil, sql.ErrUnsupported},
		{"word boundary in text that is not ascii", `regexp_like(s, '\bfoo\b')`, nil, sql.ErrUnsupported},
		{"intersection of classes", "regexp_like(s, '[a&&b]')", nil, sql.ErrUnsupported},
		{"function not here yet", "arrow_metadata(li) IS NULL", nil, sql.ErrUnsupported},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := selectRows(c.filter, rec)
			if !errors.Is(err, c.err) {
				t.Fatalf("got error %v, want %v", err, c.err)
			}
			if diff := cmp.Diff(c.rows, got); err == nil && diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}
