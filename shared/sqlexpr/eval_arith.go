package sqlexpr

import (
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
)

// arithmetic evaluates an operator on two vecs of one type, or two decimals. Integers wrap
// around; only a division can fail.
func arithmetic(op opcode, typ arrow.DataType, l, r vec, rows bitset) (vec, error) {
	n, konst := width(l, r)
	out := vec{typ: typ, n: n, konst: konst, valid: bothValid(l, r, n)}
	if konst {
		rows = nil
	}
	live := and(rows, out.valid)
	if l.typ.ID() == arrow.NULL {
		return vec{typ: typ, n: n, konst: konst, valid: newBitset(n), data: zeroData(typ, n)}, nil
	}
	if isDecimal(typ) {
		var err error
		out.data, err = decimalArithmetic(op, typ, l, r, live, n)
		return out, err
	}
	a := arith{op: op, l: l, r: r, n: n, live: live}
	switch d := l.data.(type) {
	case []int8:
		out.data = integers(&a, d, math.MinInt8)
	case []int16:
		out.data = integers(&a, d, math.MinInt16)
	case []int32:
		out.data = integers(&a, d, math.MinInt32)
	case []int64:
		out.data = integers(&a, d, math.MinInt64)
	case []uint8:
		out.data = integers(&a, d, 0)
	case []uint16:
		out.data = integers(&a, d, 0)
	case []uint32:
		out.data = integers(&a, d, 0)
	case []uint64:
		out.data = integers(&a, d, 0)
	case []float32:
		out.data = floats(&a, d)
	case []float64:
		out.data = floats(&a, d)
	case []half:
		a.l.data, a.r.data = halvesToFloat32(d), halvesToFloat32(r.data.([]half))
		wide := floats(&a, a.l.data.([]float32))
		narrow := make([]half, n)
		for i, x := range wide {
			narrow[i] = halfOf(float64(x))
		}
		out.data = narrow
	}
	return out, a.err
}

type arith struct {
	op   opcode
	l, r vec
	n    int
	live bitset // rows whose errors count
	err  error
}

type integer interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// integers computes on integers, of which least is the lowest.
func integers[T integer](a *arith, x []T, least T) []T {
	y := a.r.data.([]T)
	ml, mr := a.l.mask(), a.r.mask()
	out := make([]T, a.n)
	switch a.op {
	case opAdd:
		for i := range out {
			out[i] = x[i&ml] + y[i&mr]
		}
	case opSub:
		for i := range out {
			out[i] = x[i&ml] - y[i&mr]
		}
	case opMul:
		for i := range out {
			out[i] = x[i&ml] * y[i&mr]
		}
	default:
		divideIntegers(a, out, x, y, least)
	}
	return out
}

// divideIntegers computes quotients, cut off towards zero, or remainders, which have the
// sign of the dividend.
func divideIntegers[T integer](a *arith, out, x, y []T, least T) {
	ml, mr := a.l.mask(), a.r.mask()
	a.live.each(a.n, func(i int) bool {
		dividend, divisor := x[i&ml], y[i&mr]
		switch {
		case divisor == 0:
			a.err = sql.Errorf(sql.ErrValue, sql.NoPos, "division by zero")
		case a.op == opMod && divisor+1 == 0 && least != 0:
			out[i] = 0 // the least number modulo -1 must not trap
		case a.op == opMod:
			out[i] = dividend % divisor
		case least != 0 && dividend == least && divisor+1 == 0:
			a.err = sql.Errorf(sql.ErrValue, sql.NoPos, "overflow of a division by -1")
		default:
			out[i] = dividend / divisor
		}
		return a.err == nil
	})
}

// floats computes on floats, where a division by zero is an infinity or NaN.
func floats[T float32 | float64](a *arith, x []T) []T {
	y := a.r.data.([]T)
	ml, mr := a.l.mask(), a.r.mask()
	out := make([]T, a.n)
	switch a.op {
	case opAdd:
		for i := range out {
			out[i] = x[i&ml] + y[i&mr]
		}
	case opSub:
		for i := range out {
			out[i] = x[i&ml] - y[i&mr]
		}
	case opMul:
		for i := range out {
			out[i] = x[i&ml] * y[i&mr]
		}
	case opDiv:
		for i := range out {
			out[i] = x[i&ml] / y[i&mr]
		}
	case opMod:
		for i := range out {
			out[i] = remainder(x[i&ml], y[i&mr])
		}
	}
	for i, z := range out {
		if isNaN(z) && !isNaN(x[i&ml]) && !isNaN(y[i&mr]) {
			out[i] = T(math.Float64frombits(invalidNaN))
		}
	}
	return out
}

// invalidNaN is the NaN that an x86 processor makes of an invalid operation such as 0/0. It
// has a sign, and so is below all other floats, where that of other processors is above.
const invalidNaN = 0xfff8 << 48

// remainder has the sign of x.
func remainder[T float32 | float64](x, y T) T {
	if isNaN(x) || isNaN(y) {
		return x * y // keeps the sign and the bits of the NaN, which Mod does not
	}
	return T(math.Mod(float64(x), float64(y)))
}

// negate computes -x. Integers of a column wrap around; of a constant they fail.
func negate(v vec, rows bitset) (vec, error) {
	out := vec{typ: v.typ, n: v.n, konst: v.konst, valid: v.valid}
	if v.typ.ID() == arrow.NULL {
		return v, nil
	}
	switch d := v.data.(type) {
	case []int8:
		out.data = negated(d)
	case []int16:
		out.data = negated(d)
	case []int32:
		out.data = negated(d)
	case []int64:
		out.data = negated(d)
	case []float32:
		out.data = negated(d)
	case []float64:
		out.data = negated(d)
	case []half:
		flipped := make([]half, len(d))
		for i, h := range d {
			flipped[i] = h ^ 0x8000
		}
		out.data = flipped
	default:
		out.data = zeroData(v.typ, v.n)
		v.live(rows, v.n).each(v.n, func(i int) bool {
			x, _ := v.integer(i)
			setDecimal(out.data, i, x.Neg(x))
			return true
		})
	}
	if isSigned(v.typ) && v.konst && !v.isNull(0) {
		before, _ := v.integer(0)
		after, _ := out.integer(0)
		if before.Sign() != 0 && before.Cmp(new(big.Int).Neg(after)) != 0 {
			return vec{}, sql.Errorf(sql.ErrValue, sql.NoPos, "overflow of -(%v)", before)
		}
	}
	return out, nil
}

func negated[T int8 | int16 | int32 | int64 | float32 | float64](d []T) []T {
	out := make([]T, len(d))
	for i, x := range d {
		out[i] = -x
	}
	return out
}
