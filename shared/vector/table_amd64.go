package vector

import "math"

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
	best, at := [8]float32{}, [8]uint32{0, 1, 2, 3, 4, 5, 6, 7}
	for lane := range best {
		best[lane] = float32(math.Inf(1))
	}
	smallestAVX2(scores, &best, &at)
	first := 0
	for lane, b := range best {
		if b < best[first] || b == best[first] && at[lane] < at[first] {
			first = lane
		}
	}
	return int(at[first])
}

//go:noescape
func smallestAVX2(scores []float32, best *[8]float32, at *[8]uint32)
