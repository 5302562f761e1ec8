// Package sqltest compares the values of expressions with the results of native Lance. Each package of
// functions keeps its cases in testdata: calls.sql has an expression per line, and values.arrow a column
// for each expression that native Lance accepts, named like the expression. All are evaluated over the rows
// of [Table]. The script scripts/fixtures/sql.py writes the values.
package sqltest

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// Clock is the time at which the golden files were written, on which some of their values depend.
var Clock = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

//go:embed testdata/calls.arrow
var table []byte

// Table returns the rows over which the expressions of calls.sql are computed: words, numbers,
// moments, lists, structs and JSON that are worth a call.
func Table(t testing.TB) arrow.RecordBatch {
	t.Helper()
	return readBatch(t, table)
}

// ReadTable returns the only record batch of an Arrow IPC file.
func ReadTable(t testing.TB, name string) arrow.RecordBatch {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return readBatch(t, data)
}

func readBatch(t testing.TB, data []byte) arrow.RecordBatch {
	t.Helper()
	r, err := ipc.NewFileReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	rec, err := r.RecordBatchAt(0)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// ReadLines returns the lines of a file that are not empty.
func ReadLines(t testing.TB, name string) []string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(string(data), "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
}

// Compute parses, binds and evaluates an expression over the rows of a batch.
func Compute(expr string, rec arrow.RecordBatch) (arrow.Array, error) {
	e, err := syntax.Parse(expr)
	if err != nil {
		return nil, err
	}
	b, err := plan.Bind(context.Background(), e, rec.Schema(), Clock)
	if err != nil {
		return nil, err
	}
	return b.Eval(context.Background(), rec)
}

// A Call is a line of a file calls.sql.
type Call struct {
	Expr    string
	Refused bool // by native Lance; such a line ends with "-- refused"
}

// ReadCalls returns the expressions of a file calls.sql.
func ReadCalls(t testing.TB, name string) []Call {
	t.Helper()
	var calls []Call
	for _, line := range ReadLines(t, name) {
		expr, refused := strings.CutSuffix(line, " -- refused")
		calls = append(calls, Call{expr, refused})
	}
	return calls
}

// TestValues evaluates the expressions of testdata/calls.sql in the folder of the calling test, over all
// rows and over slices of rows, and compares them with testdata/values.arrow. An expression that native
// Lance refuses must be refused. Both files name all accepted expressions, so that no case can disappear
// unnoticed.
func TestValues(t *testing.T) {
	t.Helper()
	rec, calls, values := Table(t), ReadCalls(t, "testdata/calls.sql"), ReadTable(t, "testdata/values.arrow")
	if len(calls) == 0 {
		t.Fatal("testdata/calls.sql has no expressions")
	}
	for _, f := range values.Schema().Fields() {
		if !slices.Contains(calls, Call{Expr: f.Name}) {
			t.Fatalf("testdata/calls.sql lacks %s, whose values testdata/values.arrow has", f.Name)
		}
	}
	for _, c := range calls {
		expr := c.Expr
		t.Run(expr, func(t *testing.T) {
			at := values.Schema().FieldIndices(expr)
			if c.Refused != (len(at) == 0) {
				t.Fatalf("testdata/calls.sql has it as refused: %t; testdata/values.arrow has %d columns of it", c.Refused, len(at))
			}
			if c.Refused {
				var e *sql.Error
				if got, err := Compute(expr, rec); !errors.As(err, &e) {
					t.Fatalf("got %v, error %v; want an *sql.Error", got, err)
				}
				return
			}
			// A slice of a single row is a column and no constant.
			for _, piece := range [][2]int64{{0, rec.NumRows()}, {0, 3}, {3, 4}, {4, rec.NumRows()}} {
				want := array.NewSlice(values.Column(at[0]), piece[0], piece[1])
				got, err := Compute(expr, rec.NewSlice(piece[0], piece[1]))
				if err != nil {
					t.Fatalf("rows %v: got error %v, want %v", piece, err, want)
				}
				if !Same(got, want) {
					t.Errorf("rows %v\ngot  %s %v\nwant %s %v", piece, got.DataType(), got, want.DataType(), want)
				}
			}
		})
	}
}

// Same compares floats within some units in the last place, because mathematical functions differ that much
// between libraries, and everything else exactly.
func Same(got, want arrow.Array) bool {
	if !arrow.TypeEqual(got.DataType(), want.DataType()) || got.Len() != want.Len() {
		return false
	}
	switch want := want.(type) {
	case *array.Float64:
		return nearFloats(got, want, got.(*array.Float64).Value, want.Value, 1<<4)
	case *array.Float32:
		g := got.(*array.Float32)
		return nearFloats(got, want, func(i int) float64 { return float64(g.Value(i)) },
			func(i int) float64 { return float64(want.Value(i)) }, 1<<31)
	}
	return array.ApproxEqual(got, want, array.WithNaNsEqual(true), array.WithAbsTolerance(0))
}

// nearFloats reports whether all values are equal up to ulps units in the last place. All NaNs are equal.
func nearFloats(got, want arrow.Array, g, w func(i int) float64, ulps int64) bool {
	for i := range want.Len() {
		if got.IsNull(i) != want.IsNull(i) {
			return false
		}
		if want.IsNull(i) || math.IsNaN(g(i)) && math.IsNaN(w(i)) {
			continue
		}
		d := int64(math.Float64bits(g(i))) - int64(math.Float64bits(w(i)))
		if d < -ulps || d > ulps {
			return false
		}
	}
	return true
}
