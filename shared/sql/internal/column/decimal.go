package column

import (
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
)

// Arithmetic on decimals uses math/big, because they are rare in filters. Comparisons are more frequent and
// use the stored form.

// Integer returns the number in a slot as an integer: the unscaled value of a decimal, or the count of days
// or ticks of a date, time or timestamp. It returns false for types that are not stored as integers.
func (v Vec) Integer(row int) (*big.Int, bool) {
	i := v.Slot(row)
	switch d := v.Data.(type) {
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

// SetDecimal stores an unscaled value, which must fit.
func SetDecimal(data any, i int, x *big.Int) {
	switch d := data.(type) {
	case []decimal128.Num:
		d[i] = decimal128.FromBigInt(x)
	case []decimal256.Num:
		d[i] = decimal256.FromBigInt(x)
	}
}

// Pow10 returns a power of ten.
func Pow10(n int32) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// DigitsFit reports whether x has at most precision digits.
func DigitsFit(x *big.Int, precision int32) bool { return x.CmpAbs(Pow10(precision)) < 0 }

// Rescale changes the scale of an unscaled value, rounding half away from zero.
func Rescale(x *big.Int, from, to int32) *big.Int {
	if to >= from {
		return new(big.Int).Mul(x, Pow10(to-from))
	}
	div := Pow10(from - to)
	q, r := new(big.Int).QuoRem(x, div, new(big.Int))
	if r.Abs(r).Lsh(r, 1).Cmp(div) >= 0 {
		q.Add(q, big.NewInt(int64(x.Sign())))
	}
	return q
}

// IntegerRange returns the least and the greatest value of a type that is stored as an
// integer.
func IntegerRange(t arrow.DataType) (low, high *big.Int) {
	bits := uint(BitWidth(t))
	if IsUnsigned(t) {
		return new(big.Int), new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), bits), big.NewInt(1))
	}
	half := new(big.Int).Lsh(big.NewInt(1), bits-1)
	return new(big.Int).Neg(half), new(big.Int).Sub(half, big.NewInt(1))
}

// SetInteger stores a value, which must fit, in data of integers.
func SetInteger(data any, i int, x *big.Int) {
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
