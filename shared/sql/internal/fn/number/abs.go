package number

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/meter"
)

// bindAbs accepts all numbers; NULL becomes a float64.
func bindAbs(n *expr.Node) (*expr.Node, error) {
	t := n.Args[0].Type
	switch {
	case t.ID() == arrow.NULL:
		t = column.TypeFloat64
	case !column.IsNumeric(t):
		return nil, expr.Mismatch(n)
	}
	return expr.CastArgs(n, t, t)
}

// evalAbs computes absolute values. The least of the signed integers has none.
func evalAbs(_ *meter.Meter, _ *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	x := args[0]
	if x.Const {
		rows = nil
	}
	out := column.Vec{Type: x.Type, N: x.N, Const: x.Const, Valid: x.Valid, Data: x.Data}
	live := x.Live(rows, x.N)
	var err error
	switch d := x.Data.(type) {
	case []int8:
		out.Data, err = absIntegers(d, live)
	case []int16:
		out.Data, err = absIntegers(d, live)
	case []int32:
		out.Data, err = absIntegers(d, live)
	case []int64:
		out.Data, err = absIntegers(d, live)
	case []float32:
		wide := make([]float32, len(d))
		for i, f := range d {
			wide[i] = math.Float32frombits(math.Float32bits(f) &^ (1 << 31))
		}
		out.Data = wide
	case []float64:
		wide := make([]float64, len(d))
		for i, f := range d {
			wide[i] = math.Abs(f)
		}
		out.Data = wide
	case []column.Half:
		wide := make([]column.Half, len(d))
		for i, h := range d {
			wide[i] = h & 0x7fff
		}
		out.Data = wide
	default:
		if column.IsDecimal(x.Type) {
			out.Data = column.Zeros(x.Type, x.N)
			live.Each(x.N, func(i int) bool {
				v, _ := x.Integer(i)
				column.SetDecimal(out.Data, i, v.Abs(v))
				return true
			})
		}
	}
	return out, err
}

// absIntegers computes absolute values. It fails for the least integer, whose absolute value overflows.
func absIntegers[T int8 | int16 | int32 | int64](d []T, live column.Bitset) ([]T, error) {
	out := make([]T, len(d))
	var err error
	live.Each(len(d), func(i int) bool {
		out[i] = max(d[i], -d[i])
		if out[i] < 0 {
			err = sql.Errorf(sql.ErrValue, sql.NoPos, "overflow of abs of the least number")
		}
		return err == nil
	})
	return out, err
}
