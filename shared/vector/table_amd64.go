package vector

func scoreTile(rows, panel, offsets, out []float32, stride int) {
	if hasAVX2 {
		scoreTileAVX2(rows, panel, offsets, out, stride)
	} else {
		scorePortable(rows, panel, offsets, out, stride)
	}
}

//go:noescape
func scoreTileAVX2(rows, panel, offsets, out []float32, stride int)

// smallest returns the position of the smallest score, the first of equal ones, and 0 if all are NaN.
// There are panels of scores.
func smallest(scores []float32) int {
	if !hasAVX2 {
		return smallestPortable(scores)
	}
	return smallestAVX2(scores)
}

//go:noescape
func smallestAVX2(scores []float32) int
