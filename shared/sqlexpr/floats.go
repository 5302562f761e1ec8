package sqlexpr

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
)

// quietNaN is the NaN without a payload.
var quietNaN = math.Float64frombits(0x7ff8 << 48)

func isNaN[T float32 | float64](x T) bool { return math.IsNaN(float64(x)) }

// bits64 is the bits of floats as integers, without copying.
func bits64(f []float64) []int64 {
	return arrow.Int64Traits.CastFromBytes(arrow.Float64Traits.CastToBytes(f))
}

// bits32 is the bits of floats as integers, without copying.
func bits32(f []float32) []int32 {
	return arrow.Int32Traits.CastFromBytes(arrow.Float32Traits.CastToBytes(f))
}

// ordered maps the bits of a float to an integer, such that the integers have the total
// order of the floats: negative floats, which grow with the magnitude, are turned around.
// sign is the number of the sign bit and low all the bits below it.
func ordered[T int16 | int32 | int64](x T, sign int, low T) T { return x ^ x>>sign&low }

// totalOrder is an integer that is ordered as floats are.
func totalOrder(f float64) int64 { return ordered(int64(math.Float64bits(f)), 63, math.MaxInt64) }
