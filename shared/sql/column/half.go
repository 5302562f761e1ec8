package column

import "tiltyard/shared/half"

// Half is the bits of a float16.
type Half uint16

// HalfOf returns the half nearest to f, as [half.Round] does.
func HalfOf(f float64) Half { return Half(half.Round(f)) }

// HalvesToFloat32 widens halves.
func HalvesToFloat32(src []Half) []float32 {
	out := make([]float32, len(src))
	for i, h := range src {
		out[i] = half.Widen(uint16(h))
	}
	return out
}
