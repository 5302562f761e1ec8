//go:build !amd64

package vector

func notAbove(t *numberTerms, sums *[codeRows]uint16, adds, scales, errors []float32) uint64 {
	return notAbovePortable(t, sums, adds, scales, errors)
}
