package plan

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/syntax"
)

// testClock is when the golden files were written, as far as their values tell.
var testClock = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// valuesOf parses, binds and evaluates an expression.
func valuesOf(expr string, rec arrow.RecordBatch) (arrow.Array, error) {
	e, err := syntax.Parse(expr)
	if err != nil {
		return nil, err
	}
	b, err := Bind(context.Background(), e, rec.Schema(), testClock)
	if err != nil {
		return nil, err
	}
	return b.Eval(context.Background(), rec)
}

func TestComputesTheValuesOfTheNativeLance(t *testing.T) {
	rec := readTable(t, "testdata/calls.arrow")
	exprs, values := readCalls(t)
	for _, expr := range exprs {
		t.Run(expr, func(t *testing.T) {
			got, err := valuesOf(expr, rec)
			at := values.Schema().FieldIndices(expr)
			if len(at) == 0 {
				var e *sql.Error
				if !errors.As(err, &e) {
					t.Fatalf("got %v, error %v; want an *Error", got, err)
				}
				return
			}
			want := values.Column(at[0])
			if err != nil {
				t.Fatalf("got error %v, want %v", err, want)
			}
			if !sameValues(got, want) {
				t.Errorf("got  %s %v\nwant %s %v", got.DataType(), got, want.DataType(), want)
			}
		})
	}
}

// TestComputesTheSameValuesFromPieces evaluates the expressions on slices of the table, one of
// them of a single row, for which they must not mistake a column for a constant.
func TestComputesTheSameValuesFromPieces(t *testing.T) {
	rec := readTable(t, "testdata/calls.arrow")
	_, values := readCalls(t)
	for i, f := range values.Schema().Fields() {
		for _, piece := range [][2]int64{{0, 3}, {3, 4}, {4, rec.NumRows()}} {
			want := array.NewSlice(values.Column(i), piece[0], piece[1])
			got, err := valuesOf(f.Name, rec.NewSlice(piece[0], piece[1]))
			if err != nil {
				t.Errorf("%s: %v", f.Name, err)
			} else if !sameValues(got, want) {
				t.Errorf("%s of rows %v: got %v, want %v", f.Name, piece, got, want)
			}
		}
	}
}

// sameValues compares floats within some units of their last place, as the logarithms and the
// like of two libraries differ there, and everything else exactly.
func sameValues(got, want arrow.Array) bool {
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
