package vector

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The kernel of the processor equals the portable one, also for terms that are not finite.
func TestNearKernelMatchesReference(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	odd := []float32{0, float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.MaxFloat32}
	number := func() float32 {
		if random.IntN(40) == 0 {
			return odd[random.IntN(len(odd))]
		}
		return float32(random.NormFloat64())
	}
	some := func(n int) []float32 {
		values := make([]float32, n)
		for i := range values {
			values[i] = number()
		}
		return values
	}
	kept := 0
	for range 3000 {
		terms := numberTerms{
			step: number() / 100, lift: number(), half: number() / 10, factor: number(), reach: number(), base: number(), size: number(), limit: number(),
			rounding: 1. / 256,
		}
		var sums [codeRows]uint16
		for i := range sums {
			sums[i] = uint16(random.IntN(200))
		}
		n := 1 + random.IntN(codeRows)
		adds, scales, errors := some(n), some(n), some(n)
		got, want := notAbove(&terms, &sums, adds, scales, errors), notAbovePortable(&terms, &sums, adds, scales, errors)
		if got != want {
			t.Fatalf("%d rows under %+v: got %x, want %x", n, terms, got, want)
		}
		if want != 0 && want != ^uint64(0)>>(codeRows-n) {
			kept++
		}
	}
	if kept < 1000 {
		t.Errorf("only %d cases keep some rows and leave out others", kept)
	}
}

// A row that is left out is above the limit by any order of addition, and most rows well above the limit are left out.
func TestRowsThatAreLeftOutAreAboveTheLimit(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, code := range []int{1, 16, 96, 300, 700} {
		numbers := randomNumbers(random, code)
		table := newCodeTable(numbers)
		if table == nil {
			t.Fatalf("codes of %d bytes have no table", code)
		}
		const rows = 150
		codes := randomCodes(random, code*rows)
		sums, sizes := make([]float64, rows), make([]float64, rows)
		for row := range rows {
			for b := range code {
				x := float64(numbers[b*byteValues+int(codes[b*rows+row])])
				sums[row], sizes[row] = sums[row]+x, sizes[row]+math.Abs(x)
			}
		}
		values := func(scale float32) []float32 {
			values := make([]float32, rows)
			for i := range values {
				values[i] = scale * float32(random.NormFloat64())
			}
			return values
		}
		for _, terms := range []*Terms{
			{},
			{Base: 3, Factor: 1, Adds: values(10)},
			{Base: -70, Factor: -2, Zero: 20, Reach: 0.5, Adds: values(3), Scales: values(4), Errors: values(2)},
			{Base: 1e6, Beside: 1e6, Zero: 1e5, Scales: values(1)},
		} {
			exact := make([]float64, rows)
			for row := range rows {
				scale := float64(orAll(terms.Scales, row, 1, &allOne)[0])
				exact[row] = float64(terms.Base) + float64(terms.Factor)*float64(orAll(terms.Adds, row, 1, &allZero)[0]) +
					scale*(sums[row]-float64(terms.Zero)) - float64(terms.Reach)*float64(orAll(terms.Errors, row, 1, &allZero)[0])
			}
			sorted := slices.Sorted(slices.Values(exact))
			for _, at := range []int{0, 10, 75, rows - 1} {
				limit := float32(sorted[at])
				near := table.Near(codes, rows, rows, terms, limit, nil)
				for row := range rows {
					kept, scale := slices.Contains(near, int32(row)), math.Abs(float64(orAll(terms.Scales, row, 1, &allOne)[0]))
					// The rounding error of a sum of floats in any order.
					margin := scale*sizes[row]*float64(code)/(1<<24) + math.Abs(exact[row])/(1<<21)
					slack := 2*scale*float64(table.half+2*table.margin+2*table.beside*terms.Zero) + 1e-4*(math.Abs(exact[row])+100) + 1e-5*float64(terms.Beside)
					switch {
					case !kept && exact[row] <= float64(limit)+margin:
						t.Errorf("codes of %d bytes: row %d, of %v, is left out; the limit is %v", code, row, exact[row], limit)
					case kept && exact[row] > float64(limit)+slack:
						t.Errorf("codes of %d bytes: row %d, of %v, is kept; the limit is %v", code, row, exact[row], limit)
					}
				}
			}
		}
	}
}
