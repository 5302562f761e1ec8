package vector

import "golang.org/x/sys/cpu"

// The kernels that the processor supports. Processors with AVX2 have FMA and F16C too, except under a few
// hypervisors. The AVX-512 kernels need only the foundation instructions.
var (
	hasAVX2   = cpu.X86.HasAVX2 && cpu.X86.HasFMA && cpu.X86.HasF16C
	hasAVX512 = cpu.X86.HasAVX512F
)

func l2Float32(query, rows, out []float32) {
	switch {
	case hasAVX512:
		l2Float32AVX512(query, rows, out)
	case hasAVX2:
		l2Float32AVX2(query, rows, out)
	default:
		l2Portable(query, rows, out)
	}
}

func dotFloat32(query, rows, out []float32) {
	switch {
	case hasAVX512:
		dotFloat32AVX512(query, rows, out)
	case hasAVX2:
		dotFloat32AVX2(query, rows, out)
	default:
		dotPortable(query, rows, out)
	}
}

func cosineFloat32(query, rows, xy, yy []float32) {
	switch {
	case hasAVX512:
		cosineFloat32AVX512(query, rows, xy, yy)
	case hasAVX2:
		cosineFloat32AVX2(query, rows, xy, yy)
	default:
		cosinePortable(query, rows, xy, yy)
	}
}

func l2Float64(query, rows []float64, out []float32) {
	switch {
	case hasAVX512:
		l2Float64AVX512(query, rows, out)
	case hasAVX2:
		l2Float64AVX2(query, rows, out)
	default:
		l2Portable(query, rows, out)
	}
}

func dotFloat64(query, rows []float64, out []float32) {
	switch {
	case hasAVX512:
		dotFloat64AVX512(query, rows, out)
	case hasAVX2:
		dotFloat64AVX2(query, rows, out)
	default:
		dotPortable(query, rows, out)
	}
}

func cosineFloat64(query, rows []float64, xy, yy []float32) {
	switch {
	case hasAVX512:
		cosineFloat64AVX512(query, rows, xy, yy)
	case hasAVX2:
		cosineFloat64AVX2(query, rows, xy, yy)
	default:
		cosinePortable(query, rows, xy, yy)
	}
}

func l2Float16(query []float32, rows []uint16, out []float32) {
	switch {
	case hasAVX512:
		l2Float16AVX512(query, rows, out)
	case hasAVX2:
		l2Float16AVX2(query, rows, out)
	default:
		l2HalfPortable(query, rows, out)
	}
}

func dotFloat16(query []float32, rows []uint16, out []float32) {
	switch {
	case hasAVX512:
		dotFloat16AVX512(query, rows, out)
	case hasAVX2:
		dotFloat16AVX2(query, rows, out)
	default:
		dotHalfPortable(query, rows, out)
	}
}

func cosineFloat16(query []float32, rows []uint16, xy, yy []float32) {
	switch {
	case hasAVX512:
		cosineFloat16AVX512(query, rows, xy, yy)
	case hasAVX2:
		cosineFloat16AVX2(query, rows, xy, yy)
	default:
		cosineHalfPortable(query, rows, xy, yy)
	}
}

//go:noescape
func l2Float32AVX2(query, rows, out []float32)

//go:noescape
func l2Float32AVX512(query, rows, out []float32)

//go:noescape
func dotFloat32AVX2(query, rows, out []float32)

//go:noescape
func dotFloat32AVX512(query, rows, out []float32)

//go:noescape
func cosineFloat32AVX2(query, rows, xy, yy []float32)

//go:noescape
func cosineFloat32AVX512(query, rows, xy, yy []float32)

//go:noescape
func l2Float64AVX2(query, rows []float64, out []float32)

//go:noescape
func l2Float64AVX512(query, rows []float64, out []float32)

//go:noescape
func dotFloat64AVX2(query, rows []float64, out []float32)

//go:noescape
func dotFloat64AVX512(query, rows []float64, out []float32)

//go:noescape
func cosineFloat64AVX2(query, rows []float64, xy, yy []float32)

//go:noescape
func cosineFloat64AVX512(query, rows []float64, xy, yy []float32)

//go:noescape
func l2Float16AVX2(query []float32, rows []uint16, out []float32)

//go:noescape
func l2Float16AVX512(query []float32, rows []uint16, out []float32)

//go:noescape
func dotFloat16AVX2(query []float32, rows []uint16, out []float32)

//go:noescape
func dotFloat16AVX512(query []float32, rows []uint16, out []float32)

//go:noescape
func cosineFloat16AVX2(query []float32, rows []uint16, xy, yy []float32)

//go:noescape
func cosineFloat16AVX512(query []float32, rows []uint16, xy, yy []float32)

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
// scores holds whole panels.
func smallest(scores []float32) int {
	if !hasAVX2 {
		return smallestPortable(scores)
	}
	return smallestAVX2(scores)
}

//go:noescape
func smallestAVX2(scores []float32) int
