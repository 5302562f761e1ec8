package column

import "math"

// Half is the bits of a float16.
type Half uint16

// float32 widens h, which is exact. The conversion of the Arrow library is not used,
// because it flushes subnormal numbers to zero and truncates instead of rounding.
func (h Half) float32() float32 {
	sign := uint32(h&0x8000) << 16
	exp := uint32(h>>10) & 0x1f
	frac := uint32(h) & 0x3ff
	switch exp {
	case 0: // zero or subnormal: frac × 2⁻²⁴
		f := float32(frac) * (1.0 / (1 << 24))
		return math.Float32frombits(math.Float32bits(f) | sign)
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}

// HalfOf rounds f to the nearest half, ties to even, and to infinity past the largest.
func HalfOf(f float64) Half {
	bits := math.Float64bits(f)
	sign := Half(bits >> 48 & 0x8000)
	abs := math.Abs(f)
	switch {
	case math.IsNaN(f):
		return sign | 0x7e00
	case abs >= 65520: // halfway between the largest half and the one after it
		return sign | 0x7c00
	case abs < 1.0/(1<<14): // subnormal: a multiple of 2⁻²⁴
		return sign | Half(math.RoundToEven(abs*(1<<24)))
	}
	_, exp := math.Frexp(abs) // abs = m × 2^exp, 0.5 <= m < 1
	// The significand has 11 bits. Rounding up may carry into the exponent, which the sum
	// of the fields below does as well.
	sig := Half(math.RoundToEven(math.Ldexp(abs, 11-exp)))
	return sign | (Half(exp+14)<<10 + sig - 1<<10)
}

// HalvesToFloat32 widens halves.
func HalvesToFloat32(src []Half) []float32 {
	out := make([]float32, len(src))
	for i, h := range src {
		out[i] = h.float32()
	}
	return out
}
