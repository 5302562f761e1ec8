package vector

import "math"

// A CodeTable bounds sums of table entries. For each byte of a code there are 256
// numbers, one per value of the byte, and a code stands for the sum of the numbers that its bytes select.
// The table quantizes the numbers to bytes, as steps above the least number of their place, so that a
// kernel can look up 64 of them at a time. It is immutable and safe for concurrent use.
type CodeTable struct {
	steps []byte  // 256 for each byte of a code
	least float32 // the least sum of a code
	step  float32
	half  float32 // the greatest distance of a sum from the middle of its bounds, without rounding
	// margin bounds the rounding error of a sum; beside is the part per unit of a number added to the sum.
	margin, beside float32
}

const (
	byteValues = 256
	codeRows   = 64 // that a kernel sums up together
)

// NewCodeTable returns the table of numbers, 256 for each byte of a code. It returns nil if the processor has no kernel
// for it, or if some numbers are not finite.
func NewCodeTable(numbers []float32) *CodeTable {
	if !hasCodeKernels {
		return nil
	}
	return newCodeTable(numbers)
}

// newCodeTable quantizes numbers, 256 for each byte of a code. It returns nil if they are not finite, or
// too large or too equal for useful steps.
func newCodeTable(numbers []float32) *CodeTable {
	n := len(numbers) / byteValues
	least, width, sum, most := make([]float32, n), float32(0), float32(0), float32(0)
	for i := range n {
		low, high, finite := numberBounds((*[byteValues]float32)(numbers[i*byteValues:]))
		if !finite {
			return nil
		}
		least[i], width = low, max(width, high-low)
		sum, most = sum+low, most+max(-low, high)
	}
	if !(width > 0 && most < math.MaxFloat32/4) || n == 0 || n > math.MaxUint16 {
		return nil
	}
	steps := float32(min(math.MaxUint8, math.MaxUint16/n)) // so that a sum of steps fits 16 bits
	t := &CodeTable{steps: make([]byte, len(numbers)), least: sum, step: width / steps}
	t.half = t.step * float32(n) / 2
	for i, low := range least {
		stepsAbove((*[byteValues]float32)(numbers[i*byteValues:]), low, steps/width, (*[byteValues]byte)(t.steps[i*byteValues:]))
	}
	t.beside = float32(n+16) / (1 << 22)
	t.margin = t.beside * most
	return t
}

// CodeTableBytes returns the memory of a table for codes of the given number of bytes.
func CodeTableBytes(code int) int64 { return byteValues * int64(code) }

// sumCodesPortable is the reference implementation of sumCodes: the sums of the steps of n codes.
func sumCodesPortable(steps, codes []byte, stride, n int, sums *[codeRows]uint16) {
	clear(sums[:n])
	for b := range len(steps) / byteValues {
		table := (*[byteValues]byte)(steps[b*byteValues:])
		for i, code := range codes[b*stride:][:n] {
			sums[i] += uint16(table[code])
		}
	}
}

// numberBoundsPortable is the reference implementation of numberBounds: the least and the greatest number,
// and whether all are finite. If they are not, low and high are meaningless.
func numberBoundsPortable(numbers *[byteValues]float32) (low, high float32, finite bool) {
	low, high = numbers[0], numbers[0]
	sum := float32(0)
	for _, x := range numbers {
		low, high = min(low, x), max(high, x)
		sum += 0 * x
	}
	return low, high, sum == 0
}

// stepsAbovePortable is the reference implementation of stepsAbove: it writes the number of whole steps of
// each number above the least one. factor is the number of steps per unit.
func stepsAbovePortable(numbers *[byteValues]float32, least, factor float32, steps *[byteValues]byte) {
	for i, x := range numbers {
		steps[i] = uint8(min((x-least)*factor, math.MaxUint8))
	}
}
