package vector

// Every arm64 processor has the vector instructions that kernels_arm64.s uses.

//go:noescape
func l2Float32(query, rows, out []float32)

//go:noescape
func dotFloat32(query, rows, out []float32)

//go:noescape
func cosineFloat32(query, rows, xy, yy []float32)

//go:noescape
func l2Float64(query, rows []float64, out []float32)

//go:noescape
func dotFloat64(query, rows []float64, out []float32)

//go:noescape
func cosineFloat64(query, rows []float64, xy, yy []float32)

//go:noescape
func l2Float16(query []float32, rows []uint16, out []float32)

//go:noescape
func dotFloat16(query []float32, rows []uint16, out []float32)

//go:noescape
func cosineFloat16(query []float32, rows []uint16, xy, yy []float32)

//go:noescape
func scoreTile(rows, panel, offsets, out []float32, stride int)

func smallest(scores []float32) int { return smallestPortable(scores) }
