package vector

import "golang.org/x/sys/cpu"

// hasCodeKernels is true if the processor has AVX-512 with VBMI, which looks up bytes in tables of 128, and
// BW for byte masks.
var hasCodeKernels = cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VBMI

func sumCodes(steps, codes []byte, stride, n int, sums *[codeRows]uint16) {
	if !hasCodeKernels {
		sumCodesPortable(steps, codes, stride, n, sums)
		return
	}
	sumCodesVBMI(steps, codes, stride, ^uint64(0)>>(codeRows-n), sums)
}

// numberBounds reduces the 16 lanes of the kernel. The sum of 0 times each number is 0 if all numbers are
// finite, else NaN.
func numberBounds(numbers *[byteValues]float32) (low, high float32, finite bool) {
	if !hasCodeKernels {
		return numberBoundsPortable(numbers)
	}
	var lanes [3][16]float32 // the least, the greatest, and sums of 0 times each number
	numberBoundsAVX512(numbers, &lanes)
	low, high = lanes[0][0], lanes[1][0]
	sum := float32(0)
	for i := range 16 {
		low, high, sum = min(low, lanes[0][i]), max(high, lanes[1][i]), sum+lanes[2][i]
	}
	return low, high, sum == 0
}

func stepsAbove(numbers *[byteValues]float32, least, factor float32, steps *[byteValues]byte) {
	if !hasCodeKernels {
		stepsAbovePortable(numbers, least, factor, steps)
		return
	}
	stepsAboveAVX512(numbers, least, factor, steps)
}

// sumCodesVBMI reads the codes of the rows that mask has.
//
//go:noescape
func sumCodesVBMI(steps, codes []byte, stride int, mask uint64, sums *[codeRows]uint16)

//go:noescape
func numberBoundsAVX512(numbers *[byteValues]float32, lanes *[3][16]float32)

//go:noescape
func stepsAboveAVX512(numbers *[byteValues]float32, least, factor float32, steps *[byteValues]byte)
