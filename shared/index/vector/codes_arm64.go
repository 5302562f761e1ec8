package vector

// hasCodeKernels is true, because every arm64 processor looks up bytes in tables of 64.
const hasCodeKernels = true

const laneRows = 16 // that the smaller kernel sums up together

// sumCodes uses one kernel for a full block, and another for each 16 of fewer rows. The last rows use Go,
// because a kernel would read past the codes.
func sumCodes(steps, codes []byte, stride, n int, sums *[codeRows]uint16) {
	if n == codeRows {
		sumCodes64(steps, codes, stride, sums)
		return
	}
	from := 0
	for ; from+laneRows <= n; from += laneRows {
		sumCodes16(steps, codes[from:], stride, (*[laneRows]uint16)(sums[from:]))
	}
	if from < n {
		var rest [codeRows]uint16
		sumCodesPortable(steps, codes[from:], stride, n-from, &rest)
		copy(sums[from:n], rest[:])
	}
}

func numberBounds(numbers *[byteValues]float32) (low, high float32, finite bool) {
	return numberBoundsPortable(numbers)
}

func stepsAbove(numbers *[byteValues]float32, least, factor float32, steps *[byteValues]byte) {
	stepsAbovePortable(numbers, least, factor, steps)
}

//go:noescape
func sumCodes64(steps, codes []byte, stride int, sums *[codeRows]uint16)

//go:noescape
func sumCodes16(steps, codes []byte, stride int, sums *[laneRows]uint16)
