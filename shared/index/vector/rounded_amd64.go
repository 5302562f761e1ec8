package vector

func rounded(sizes []float32, scale float32, highest int32) (product float64, squares int64) {
	if !hasAVX2 || len(sizes) == 0 {
		return roundedPortable(sizes, scale, highest)
	}
	return roundedAVX2(&sizes[0], len(sizes), scale, highest)
}

// roundedAVX2 takes n sizes, a multiple of 8.
//
//go:noescape
func roundedAVX2(sizes *float32, n int, scale float32, highest int32) (product float64, squares int64)
