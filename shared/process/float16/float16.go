// Package float16 converts between float16, the half of IEEE 754, and wider floats. Both directions
// treat subnormal numbers as numbers, which the conversions of the Arrow library turn to zero.
//
// A half is a uint16: sign (1 bit), exponent (5, biased by 15) and fraction (10), from the highest bit
// to the lowest.
package float16

import "math"

// Inf is the positive infinity. Halves without their sign that are greater are NaN.
const Inf = 0x1f << 10

const (
	quiet = 1 << 9 // first bit of the fraction: a NaN that raises nothing

	// Rebiasing an exponent is an addition to the bits of the wider float.
	rebias32 = (127 - 15) << 23
	rebias64 = (1023 - 15) << 52

	infFrom        = 65520 // halfway between the largest finite half and the next power of two
	smallestNormal = 0x1p-14
	unit           = 0x1p-24 // of subnormal halves
)

// Round returns the half nearest to f, ties to even. From 65520 on that is an infinity. A NaN becomes
// the quiet NaN of its sign.
func Round(f float64) uint16 {
	b := math.Float64bits(f)
	sign := uint16(b>>48) & 0x8000
	b &^= 1 << 63
	size := math.Float64frombits(b)

	switch {
	case math.IsNaN(f):
		return sign | Inf | quiet
	case size >= infFrom:
		return sign | Inf
	case size < smallestNormal:
		// The last bit of a float64 from 2^28 on is 2^-24, so the addition rounds to that.
		const large = unit * (1 << 52)
		return sign | uint16(math.Float64bits(size+large)-math.Float64bits(large))
	}
	// Round to nearest even: a half has 42 bits fewer, so add just under half of its last bit, and one more
	// if that last bit is odd. A carry into the exponent is correct.
	b += 1<<41 - 1 + b>>42&1
	return sign | uint16((b-rebias64)>>42)
}

// Widen returns the value of a half, which every float32 can hold.
func Widen(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	size := uint32(h & 0x7fff)

	switch {
	case size >= Inf:
		return math.Float32frombits(sign | 0xff<<23 | size<<13)
	case size < 1<<10:
		return math.Float32frombits(sign | math.Float32bits(float32(size)*unit))
	}
	return math.Float32frombits(sign | (size<<13 + rebias32))
}
