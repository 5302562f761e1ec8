package sqlexpr

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/meter"
)

// bindAbs takes all numbers; of NULL it makes a float64.
func bindAbs(n *node) (*node, error) {
	t := n.args[0].typ
	switch {
	case t.ID() == arrow.NULL:
		t = typeFloat64
	case !isNumeric(t):
		return nil, mismatch(n)
	}
	return castArgs(n, t, t)
}

// evalAbs computes absolute values. The least of the signed integers has none.
func evalAbs(_ *meter.Meter, _ *node, args []vec, rows bitset) (vec, error) {
	x := args[0]
	if x.konst {
		rows = nil
	}
	out := vec{typ: x.typ, n: x.n, konst: x.konst, valid: x.valid, data: x.data}
	live := x.live(rows, x.n)
	var err error
	switch d := x.data.(type) {
	case []int8:
		out.data, err = absIntegers(d, live)
	case []int16:
		out.data, err = absIntegers(d, live)
	case []int32:
		out.data, err = absIntegers(d, live)
	case []int64:
		out.data, err = absIntegers(d, live)
	case []float32:
		wide := make([]float32, len(d))
		for i, f := range d {
			wide[i] = math.Float32frombits(math.Float32bits(f) &^ (1 << 31))
		}
		out.data = wide
	case []float64:
		wide := make([]float64, len(d))
		for i, f := range d {
			wide[i] = math.Abs(f)
		}
		out.data = wide
	case []half:
		wide := make([]half, len(d))
		for i, h := range d {
			wide[i] = h & 0x7fff
		}
		out.data = wide
	default:
		if isDecimal(x.typ) {
			out.data = zeroData(x.typ, x.n)
			live.each(x.n, func(i int) bool {
				v, _ := x.integer(i)
				setDecimal(out.data, i, v.Abs(v))
				return true
			})
		}
	}
	return out, err
}

// absIntegers fails for the least number, whose opposite does not fit.
func absIntegers[T int8 | int16 | int32 | int64](d []T, live bitset) ([]T, error) {
	out := make([]T, len(d))
	var err error
	live.each(len(d), func(i int) bool {
		out[i] = max(d[i], -d[i])
		if out[i] < 0 {
			err = sql.Errorf(sql.ErrValue, sql.NoPos, "overflow of abs of the least number")
		}
		return err == nil
	})
	return out, err
}
