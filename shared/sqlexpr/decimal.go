package sqlexpr

import (
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
