package vector

import "math"

// RoundToFloat16 returns the IEEE halves nearest to the values, ties to even. Values past
// the range of float16 (from 65520) become infinite. It is what native Lance does with a
// query of a float16 column.
func RoundToFloat16(values []float32) []uint16 {
	half := make([]uint16, len(values))
	for i, x := range values {
		half[i] = roundToHalf(x)
	}
	return half
}

// The bits of a half are sign (1), exponent (5, biased by 15) and fraction (10); those of
// a float32 are sign (1), exponent (8, biased by 127) and fraction (23).
const (
	halfInf         = 0x1f << 10
	halfQuiet       = 1 << 9 // first bit of the fraction: a NaN that raises nothing
	rebias          = (127 - 15) << 23
	smallestNormal  = 0x1p-14
	halfUlpOfNormal = 1<<12 - 1 // just under half of the last bit that a half keeps
)

func roundToHalf(x float32) uint16 {
	b := math.Float32bits(x)
	sign := uint16(b>>16) & 0x8000
	b &= 1<<31 - 1
	size := math.Float32frombits(b)

	switch {
	case math.IsNaN(float64(size)):
		return sign | halfInf | halfQuiet
	case size >= 65520:
		return sign | halfInf
	case size < smallestNormal:
		// The unit of a subnormal half is 2^-24. Adding 2^-1, whose own last bit is 2^-24,
		// makes the addition round to it.
		return sign | uint16(math.Float32bits(size+0.5)-math.Float32bits(0.5))
	}
	b += halfUlpOfNormal + b>>13&1 // a carry into the exponent is right as it is
	return sign | uint16((b-rebias)>>13)
}

// widen writes the values of the first len(out) halves to out. Every half is a float32.
func widen(half []uint16, out []float32) {
	for i, h := range half[:len(out)] {
		out[i] = halfToFloat32(h)
	}
}

func halfToFloat32(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	size := uint32(h & 0x7fff)

	switch {
	case size >= halfInf:
		return math.Float32frombits(sign | 0xff<<23 | size<<13)
	case size < 1<<10:
		return math.Float32frombits(sign | math.Float32bits(float32(size)*0x1p-24))
	}
	return math.Float32frombits(sign | (size<<13 + rebias))
}
