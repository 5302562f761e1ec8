package vector

import "tiltyard/shared/half"

// RoundToFloat16 returns the halves nearest to the values, as [half.Round] does. It is what native
// Lance does with a query of a float16 column.
func RoundToFloat16(values []float32) []uint16 {
	rounded := make([]uint16, len(values))
	for i, x := range values {
		rounded[i] = half.Round(float64(x))
	}
	return rounded
}

// widen writes the values of the first len(out) halves to out.
func widen(halves []uint16, out []float32) {
	for i, h := range halves[:len(out)] {
		out[i] = half.Widen(h)
	}
}
