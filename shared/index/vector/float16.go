package vector

import "tiltyard/shared/process/float16"

// RoundToFloat16 rounds values to the nearest float16, ties to even. Native Lance rounds the query of a
// float16 column in the same way.
func RoundToFloat16(values []float32) []uint16 {
	rounded := make([]uint16, len(values))
	for i, x := range values {
		rounded[i] = float16.Round(float64(x))
	}
	return rounded
}

// widen writes the values of the first len(out) halves to out.
func widen(halves []uint16, out []float32) {
	for i, h := range halves[:len(out)] {
		out[i] = float16.Widen(h)
	}
}
