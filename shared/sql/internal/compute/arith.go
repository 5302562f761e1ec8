package compute

import (
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
)

// Arithmetic evaluates an operator on two columns of one type, or on two decimals. Integers
// wrap around; only a division can fail.
func Arithmetic(op expr.Op, typ arrow.DataType, l, r column.Vec, rows column.Bitset) (column.Vec, error) {
	n, konst := column.Width(l, r)
	out := column.Vec{Type: typ, N: n, Const: konst, Valid: column.BothValid(l, r, n)}
	if konst {
		rows = nil
	}
	live := column.And(rows, out.Valid)
	if l.Type.ID() == arrow.NULL {
		return column.Vec{Type: typ, N: n, Const: konst, Valid: column.NewBitset(n), Data: column.Zeros(typ, n)}, nil
	}
	if column.IsDecimal(typ) {
		var err error
		out.Data, err = decimalArithmetic(op, typ, l, r, live, n)
		return out, err
	}
	a := arith{op: op, l: l, r: r, n: n, live: live}
	switch d := l.Data.(type) {
	case []int8:
		out.Data = integers(&a, d, math.MinInt8)
	case []int16:
		out.Data = integers(&a, d, math.MinInt16)
	case []int32:
		out.Data = integers(&a, d, math.MinInt32)
	case []int64:
		out.Data = integers(&a, d, math.MinInt64)
	case []uint8:
		out.Data = integers(&a, d, 0)
	case []uint16:
		out.Data = integers(&a, d, 0)
	case []uint32:
		out.Data = integers(&a, d, 0)
	case []uint64:
		out.Data = integers(&a, d, 0)
	case []float32:
		out.Data = floats(&a, d)
	case []float64:
		out.Data = floats(&a, d)
	case []column.Half:
		a.l.Data, a.r.Data = column.HalvesToFloat32(d), column.HalvesToFloat32(r.Data.([]column.Half))
		wide := floats(&a, a.l.Data.([]float32))
		narrow := make([]column.Half, n)
		for i, x := range wide {
			narrow[i] = column.HalfOf(float64(x))
		}
		out.Data = narrow
	}
	return out, a.err
}

// arith is the evaluation of an arithmetic operator on two columns.
type arith struct {
	op   expr.Op
	l, r column.Vec
	n    int
	live column.Bitset // rows whose errors are reported
	err  error
}

type integer interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// integers computes on integers; least is the least of their type.
func integers[T integer](a *arith, x []T, least T) []T {
	y := a.r.Data.([]T)
	ml, mr := a.l.Mask(), a.r.Mask()
	out := make([]T, a.n)
	switch a.op {
	case expr.OpAdd:
		for i := range out {
			out[i] = x[i&ml] + y[i&mr]
		}
	case expr.OpSub:
		for i := range out {
			out[i] = x[i&ml] - y[i&mr]
		}
	case expr.OpMul:
		for i := range out {
			out[i] = x[i&ml] * y[i&mr]
		}
	default:
		divideIntegers(a, out, x, y, least)
	}
	return out
}

// divideIntegers computes quotients, truncated towards zero, or remainders, which have the
// sign of the dividend.
func divideIntegers[T integer](a *arith, out, x, y []T, least T) {
	ml, mr := a.l.Mask(), a.r.Mask()
	a.live.Each(a.n, func(i int) bool {
		dividend, divisor := x[i&ml], y[i&mr]
		switch {
		case divisor == 0:
			a.err = sql.Errorf(sql.ErrValue, sql.NoPos, "division by zero")
		case a.op == expr.OpMod && divisor+1 == 0 && least != 0:
			out[i] = 0 // the least number modulo -1 must not trap
		case a.op == expr.OpMod:
			out[i] = dividend % divisor
		case least != 0 && dividend == least && divisor+1 == 0:
			a.err = sql.Errorf(sql.ErrValue, sql.NoPos, "overflow of a division by -1")
		default:
			out[i] = dividend / divisor
		}
		return a.err == nil
	})
}

// floats computes on floats. A division by zero gives an infinity or NaN.
func floats[T float32 | float64](a *arith, x []T) []T {
	y := a.r.Data.([]T)
	ml, mr := a.l.Mask(), a.r.Mask()
	out := make([]T, a.n)
	switch a.op {
	case expr.OpAdd:
		for i := range out {
			out[i] = x[i&ml] + y[i&mr]
		}
	case expr.OpSub:
		for i := range out {
			out[i] = x[i&ml] - y[i&mr]
		}
	case expr.OpMul:
		for i := range out {
			out[i] = x[i&ml] * y[i&mr]
		}
	case expr.OpDiv:
		for i := range out {
			out[i] = x[i&ml] / y[i&mr]
		}
	case expr.OpMod:
		for i := range out {
			out[i] = remainder(x[i&ml], y[i&mr])
		}
	}
	for i, z := range out {
		if column.IsNaN(z) && !column.IsNaN(x[i&ml]) && !column.IsNaN(y[i&mr]) {
			out[i] = T(math.Float64frombits(invalidNaN))
		}
	}
	return out
}

// invalidNaN is the NaN that an x86 processor makes in an invalid operation such as 0/0.
// Its sign is set, so it is below all other floats in the total order; on other processors
// it is above them.
const invalidNaN = 0xfff8 << 48

// remainder has the sign of x.
func remainder[T float32 | float64](x, y T) T {
	if column.IsNaN(x) || column.IsNaN(y) {
		return x * y // keeps the sign and the bits of the NaN, which Mod does not
	}
	return T(math.Mod(float64(x), float64(y)))
}

// Negate computes -x. The integers of a column wrap around; an overflow of a constant is an
// error.
func Negate(v column.Vec, rows column.Bitset) (column.Vec, error) {
	out := column.Vec{Type: v.Type, N: v.N, Const: v.Const, Valid: v.Valid}
	if v.Type.ID() == arrow.NULL {
		return v, nil
	}
	switch d := v.Data.(type) {
	case []int8:
		out.Data = Negated(d)
	case []int16:
		out.Data = Negated(d)
	case []int32:
		out.Data = Negated(d)
	case []int64:
		out.Data = Negated(d)
	case []float32:
		out.Data = Negated(d)
	case []float64:
		out.Data = Negated(d)
	case []column.Half:
		flipped := make([]column.Half, len(d))
		for i, h := range d {
			flipped[i] = h ^ 0x8000
		}
		out.Data = flipped
	default:
		out.Data = column.Zeros(v.Type, v.N)
		v.Live(rows, v.N).Each(v.N, func(i int) bool {
			x, _ := v.Integer(i)
			column.SetDecimal(out.Data, i, x.Neg(x))
			return true
		})
	}
	if column.IsSigned(v.Type) && v.Const && !v.IsNull(0) {
		before, _ := v.Integer(0)
		after, _ := out.Integer(0)
		if before.Sign() != 0 && before.Cmp(new(big.Int).Neg(after)) != 0 {
			return column.Vec{}, sql.Errorf(sql.ErrValue, sql.NoPos, "overflow of -(%v)", before)
		}
	}
	return out, nil
}

// Negated returns the numbers with the opposite sign. The least integer stays unchanged.
func Negated[T int8 | int16 | int32 | int64 | float32 | float64](d []T) []T {
	out := make([]T, len(d))
	for i, x := range d {
		out[i] = -x
	}
	return out
}
