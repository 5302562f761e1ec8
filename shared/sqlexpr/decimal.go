package sqlexpr

import (
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
)

// Decimals are computed with math/big: they are rare in filters, and their comparison,
// which is not so rare, works on the stored form.

// integer returns the number stored in a slot as an integer: the unscaled value of a
// decimal, the count of days or ticks of dates, times and timestamps. It is false for
// types that are not stored as integers.
func (v vec) integer(row int) (*big.Int, bool) {
	i := v.at(row)
	switch d := v.data.(type) {
	case []int8:
		return big.NewInt(int64(d[i])), true
	case []int16:
		return big.NewInt(int64(d[i])), true
	case []int32:
		return big.NewInt(int64(d[i])), true
	case []int64:
		return big.NewInt(d[i]), true
	case []uint8:
		return big.NewInt(int64(d[i])), true
	case []uint16:
		return big.NewInt(int64(d[i])), true
	case []uint32:
		return big.NewInt(int64(d[i])), true
	case []uint64:
		return new(big.Int).SetUint64(d[i]), true
	case []decimal128.Num:
		return d[i].BigInt(), true
	case []decimal256.Num:
		return d[i].BigInt(), true
	}
	return new(big.Int), false
}

// setDecimal stores an unscaled value that fits.
func setDecimal(data any, i int, x *big.Int) {
	switch d := data.(type) {
	case []decimal128.Num:
		d[i] = decimal128.FromBigInt(x)
	case []decimal256.Num:
		d[i] = decimal256.FromBigInt(x)
	}
}

func pow10(n int32) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// digitsFit reports whether x has at most so many digits.
func digitsFit(x *big.Int, precision int32) bool { return x.CmpAbs(pow10(precision)) < 0 }

// decimals converts from or to decimals.
func (c *caster) decimals() {
	switch from := c.from.typ; {
	case !isDecimal(c.to):
		c.fromDecimal()
	case isDecimal(from):
		_, scale := precisionScale(from)
		c.toDecimal(func(i int) (*big.Int, bool) {
			x, _ := c.from.integer(i)
			return x, true
		}, scale)
	case isInteger(from):
		c.toDecimal(func(i int) (*big.Int, bool) { return c.from.integer(i) }, 0)
	default:
		c.floatToDecimal()
	}
}

// toDecimal stores the numbers that value returns, with a scale, as decimals.
func (c *caster) toDecimal(value func(i int) (*big.Int, bool), scale int32) {
	precision, toScale := precisionScale(c.to)
	c.out.data = zeroData(c.to, c.from.n)
	c.each(func(i int) bool {
		x, ok := value(i)
		if ok {
			x = rescale(x, scale, toScale)
		}
		if !ok || !digitsFit(x, precision) {
			return c.fail(i, "value does not fit %s", c.to)
		}
		setDecimal(c.out.data, i, x)
		return true
	})
}

// rescale changes the scale of an unscaled value, rounding half away from zero.
func rescale(x *big.Int, from, to int32) *big.Int {
	if to >= from {
		return new(big.Int).Mul(x, pow10(to-from))
	}
	div := pow10(from - to)
	q, r := new(big.Int).QuoRem(x, div, new(big.Int))
	if r.Abs(r).Lsh(r, 1).Cmp(div) >= 0 {
		q.Add(q, big.NewInt(int64(x.Sign())))
	}
	return q
}

// floatToDecimal scales and rounds in float64, and so shows the last digits of the float.
func (c *caster) floatToDecimal() {
	_, scale := precisionScale(c.to)
	mul := math.Pow10(int(scale))
	var at func(i int) float64
	switch d := c.from.data.(type) {
	case []float32:
		at = func(i int) float64 { return float64(d[i]) }
	case []float64:
		at = func(i int) float64 { return d[i] }
	}
	c.toDecimal(func(i int) (*big.Int, bool) {
		f := math.Round(mul * at(i))
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, false
		}
		x, _ := big.NewFloat(f).Int(nil)
		return x, true
	}, scale)
}

// fromDecimal cuts off the fraction for integers. For floats it divides in float64, which
// rounds twice where the unscaled value has more than 53 bits, as the native Lance does.
func (c *caster) fromDecimal() {
	_, scale := precisionScale(c.from.typ)
	if isFloat(c.to) {
		out := make([]float64, c.from.n)
		div := math.Pow10(int(scale))
		c.each(func(i int) bool {
			x, _ := c.from.integer(i)
			f, _ := new(big.Float).SetInt(x).Float64()
			out[i] = f / div
			return true
		})
		numbersFrom(c, out)
		return
	}
	div := pow10(scale)
	low, high := integerRange(c.to)
	c.out.data = zeroData(c.to, c.from.n)
	c.each(func(i int) bool {
		x, _ := c.from.integer(i)
		x.Quo(x, div)
		if x.Cmp(low) < 0 || x.Cmp(high) > 0 {
			return c.fail(i, "%s is out of range of %s", c.from.named(x), c.to)
		}
		setInteger(c.out.data, i, x)
		return true
	})
}

// integerRange returns the least and the greatest value of a type stored as an integer.
func integerRange(t arrow.DataType) (low, high *big.Int) {
	bits := uint(bitWidth(t))
	if isUnsigned(t) {
		return new(big.Int), new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), bits), big.NewInt(1))
	}
	half := new(big.Int).Lsh(big.NewInt(1), bits-1)
	return new(big.Int).Neg(half), new(big.Int).Sub(half, big.NewInt(1))
}

// setInteger stores a value that fits in data of integers.
func setInteger(data any, i int, x *big.Int) {
	switch d := data.(type) {
	case []int8:
		d[i] = int8(x.Int64())
	case []int16:
		d[i] = int16(x.Int64())
	case []int32:
		d[i] = int32(x.Int64())
	case []int64:
		d[i] = x.Int64()
	case []uint8:
		d[i] = uint8(x.Uint64())
	case []uint16:
		d[i] = uint16(x.Uint64())
	case []uint32:
		d[i] = uint32(x.Uint64())
	case []uint64:
		d[i] = x.Uint64()
	}
}

// decimalArithmetic applies an operator to decimals of one width. For sums and remainders
// both are brought to the scale of the result, for quotients the dividend is scaled up by
// what the result has more than their own scales give. It fails where the result leaves the
// width; the number of digits that the type promises is not checked.
func decimalArithmetic(op opcode, typ arrow.DataType, l, r vec, rows bitset, n int) (any, error) {
	_, s1 := precisionScale(l.typ)
	_, s2 := precisionScale(r.typ)
	_, scale := precisionScale(typ)
	mulL, mulR := pow10(scale-min(scale, s1)), pow10(scale-min(scale, s2))
	switch op {
	case opMul:
		mulL, mulR = pow10(0), pow10(0)
	case opDiv:
		mulL, mulR = pow10(max(0, scale-s1+s2)), pow10(max(0, s1-s2-scale))
	}
	low, high := integerRange(typ)
	out := zeroData(typ, n)
	var err error
	rows.each(n, func(i int) bool {
		a, _ := l.integer(i)
		b, _ := r.integer(i)
		a.Mul(a, mulL)
		b.Mul(b, mulR)
		switch op {
		case opAdd:
			a.Add(a, b)
		case opSub:
			a.Sub(a, b)
		case opMul:
			a.Mul(a, b)
		default:
			if b.Sign() == 0 {
				err = errorf(ErrValue, noPos, "division by zero")
				return false
			}
			if op == opDiv {
				a.Quo(a, b)
			} else {
				a.Rem(a, b)
			}
		}
		if a.Cmp(low) < 0 || a.Cmp(high) > 0 {
			err = errorf(ErrValue, noPos, "decimal overflow")
			return false
		}
		setDecimal(out, i, a)
		return true
	})
	return out, err
}
