package vector

func notAbove(t *numberTerms, sums *[codeRows]uint16, adds, scales, errors []float32) uint64 {
	if !hasCodeKernels {
		return notAbovePortable(t, sums, adds, scales, errors)
	}
	return notAboveAVX512(t, sums, adds, scales, errors, ^uint64(0)>>(codeRows-len(adds)))
}

// notAboveAVX512 reads the rows that mask has.
//
//go:noescape
func notAboveAVX512(t *numberTerms, sums *[codeRows]uint16, adds, scales, errors []float32, mask uint64) uint64
