package vector

import "golang.org/x/sys/cpu"

// hasWideBytes is true if the processor has AVX-512 for bytes and words.
var hasWideBytes = cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL && cpu.X86.HasBMI2

const stepBytes = 16 // per step of the AVX2 kernel

func bytesL2(query []byte, rows []*byte, out []uint32) {
	switch {
	case hasWideBytes:
		bytesL2AVX512(query, rows, out)
	case hasAVX2:
		bytesL2AVX2(query, rows, out)
		if whole := len(query) &^ (stepBytes - 1); whole < len(query) {
			addBytesL2(query, rows, whole, out)
		}
	default:
		bytesL2Portable(query, rows, out)
	}
}

//go:noescape
func bytesL2AVX512(query []byte, rows []*byte, out []uint32)

// bytesL2AVX2 leaves out the last len(query) % stepBytes bytes of each row.
//
//go:noescape
func bytesL2AVX2(query []byte, rows []*byte, out []uint32)
