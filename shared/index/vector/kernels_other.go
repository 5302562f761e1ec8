//go:build !amd64 && !arm64

package vector

// Processors without assembly run the portable kernels.

func l2Float32(query, rows, out []float32)        { l2Portable(query, rows, out) }
func dotFloat32(query, rows, out []float32)       { dotPortable(query, rows, out) }
func cosineFloat32(query, rows, xy, yy []float32) { cosinePortable(query, rows, xy, yy) }

func l2Float64(query, rows []float64, out []float32)        { l2Portable(query, rows, out) }
func dotFloat64(query, rows []float64, out []float32)       { dotPortable(query, rows, out) }
func cosineFloat64(query, rows []float64, xy, yy []float32) { cosinePortable(query, rows, xy, yy) }

func l2Float16(query []float32, rows []uint16, out []float32)  { l2HalfPortable(query, rows, out) }
func dotFloat16(query []float32, rows []uint16, out []float32) { dotHalfPortable(query, rows, out) }
func cosineFloat16(query []float32, rows []uint16, xy, yy []float32) {
	cosineHalfPortable(query, rows, xy, yy)
}

func scoreTile(rows, panel, offsets, out []float32, stride int) {
	scorePortable(rows, panel, offsets, out, stride)
}

func smallest(scores []float32) int { return smallestPortable(scores) }
