package column

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/process/float16"
)

// QuietNaN is the NaN without a payload.
var QuietNaN = math.Float64frombits(0x7ff8 << 48)

// IsNaN reports whether a float is not a number.
func IsNaN[T float32 | float64](x T) bool { return math.IsNaN(float64(x)) }

// Bits64 returns the bits of floats as integers, without a copy.
func Bits64(f []float64) []int64 {
	return arrow.Int64Traits.CastFromBytes(arrow.Float64Traits.CastToBytes(f))
}

// Bits32 returns the bits of floats as integers, without a copy.
func Bits32(f []float32) []int32 {
	return arrow.Int32Traits.CastFromBytes(arrow.Float32Traits.CastToBytes(f))
}

// Ordered maps the bits of a float to an integer in the total order of floats. The
// magnitude bits of negative floats are inverted, so that a larger magnitude is a smaller
// integer. sign is the number of the sign bit, and low are all bits below it.
func Ordered[T int16 | int32 | int64](x T, sign int, low T) T { return x ^ x>>sign&low }

// totalOrder returns an integer in the total order of floats.
func totalOrder(f float64) int64 { return Ordered(int64(math.Float64bits(f)), 63, math.MaxInt64) }

// Half is the bits of a float16.
type Half uint16

// HalfOf returns the half nearest to f, as [float16.Round] does.
func HalfOf(f float64) Half { return Half(float16.Round(f)) }

// HalvesToFloat32 widens halves.
func HalvesToFloat32(src []Half) []float32 {
	out := make([]float32, len(src))
	for i, h := range src {
		out[i] = float16.Widen(uint16(h))
	}
	return out
}
