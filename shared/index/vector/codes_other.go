//go:build !amd64 && !arm64

package vector

// Code tables do not pay off without assembly: these functions exist for the tests.
const hasCodeKernels = false

func sumCodes(steps, codes []byte, stride, n int, sums *[codeRows]uint16) {
	sumCodesPortable(steps, codes, stride, n, sums)
}

func numberBounds(numbers *[byteValues]float32) (low, high float32, finite bool) {
	return numberBoundsPortable(numbers)
}

func stepsAbove(numbers *[byteValues]float32, least, factor float32, steps *[byteValues]byte) {
	stepsAbovePortable(numbers, least, factor, steps)
}
