//go:build !amd64

package vector

func rounded(sizes []float32, scale float32, highest int32) (product float64, squares int64) {
	return roundedPortable(sizes, scale, highest)
}
