package vector

import (
	"math"
	"math/bits"
)

// Terms turn the sum of a code into a number, such as its distance:
//
//	Base + Factor*Adds[row] + Scales[row]*(sum-Zero) - Reach*Errors[row]
type Terms struct {
	Base, Factor, Zero, Reach float32
	// By row. Nil stands for 0, 1 and 0.
	Adds, Scales, Errors []float32
	// Beside is the magnitude of the terms that Base is the sum of.
	Beside float32
}

// Near appends the rows, of the given number, whose number may be within the limit. It leaves out only rows
// that are certainly above it, whatever the order in which their terms are added and rounded. codes is
// transposed: the first bytes of all codes, then the second bytes from offset stride on, and so on.
func (t *CodeTable) Near(codes []byte, stride, rows int, terms *Terms, limit float32, near []int32) []int32 {
	abs := func(x float32) float32 { return float32(math.Abs(float64(x))) }
	b := numberTerms{
		step: t.step, lift: t.least + t.half - terms.Zero, half: t.half + 2*t.margin + 2*t.beside*abs(terms.Zero),
		factor: terms.Factor, reach: terms.Reach, base: terms.Base,
		size: terms.Beside + abs(terms.Base) + abs(limit), limit: limit, rounding: 1. / (1 << 19),
	}
	var sums [codeRows]uint16
	for from := 0; from < rows; from += codeRows {
		n := min(codeRows, rows-from)
		sumCodes(t.steps, codes[from:(len(t.steps)/byteValues-1)*stride+from+n], stride, n, &sums)
		adds, scales, errors := orAll(terms.Adds, from, n, &allZero), orAll(terms.Scales, from, n, &allOne), orAll(terms.Errors, from, n, &allZero)
		for mask := notAbove(&b, &sums, adds, scales, errors); mask != 0; mask &= mask - 1 {
			near = append(near, int32(from+bits.TrailingZeros64(mask)))
		}
	}
	return near
}

var (
	allZero [codeRows]float32
	allOne  = func() (ones [codeRows]float32) {
		for i := range ones {
			ones[i] = 1
		}
		return ones
	}()
)

// orAll returns n values from the given one, or those of all if there are none.
func orAll(values []float32, from, n int, all *[codeRows]float32) []float32 {
	if values == nil {
		return all[:n]
	}
	return values[from:][:n]
}

// numberTerms are the terms that all rows share. Assembly reads them by their offsets.
type numberTerms struct {
	step, lift float32 // from steps to the middle of the bounds of a sum
	half       float32 // from there to a bound
	factor     float32
	reach      float32
	base       float32
	size       float32 // of the terms whose rounding the terms of rows do not include
	limit      float32
	rounding   float32 // bound of the rounding error, per unit of all terms
}

// notAbovePortable is the reference implementation of notAbove: it returns the rows, of up to 64, whose
// number may be within the limit. Conversions keep the compiler from fusing operations.
func notAbovePortable(t *numberTerms, sums *[codeRows]uint16, adds, scales, errors []float32) (mask uint64) {
	abs := func(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }
	for i, add := range adds {
		sum := float32(float32(sums[i])*t.step) + t.lift
		a, s, e := float32(add*t.factor), float32(scales[i]*sum), float32(errors[i]*t.reach)
		c := float32(abs(scales[i]) * t.half)
		number := a + s + t.base - e - c
		size := abs(a) + abs(s) + (abs(e) + c) + t.size
		if !(number-float32(size*t.rounding) > t.limit) {
			mask |= 1 << i
		}
	}
	return mask
}
