package vector

import (
	"math"
	"math/rand/v2"
	"testing"
)

func randomNumbers(random *rand.Rand, code int) []float32 {
	numbers := make([]float32, code*byteValues)
	for i := range numbers {
		numbers[i] = float32(random.NormFloat64() * 3)
	}
	return numbers
}

func randomCodes(random *rand.Rand, n int) []byte {
	codes := make([]byte, n)
	for i := range codes {
		codes[i] = byte(random.Uint32())
	}
	return codes
}

// The kernels of the processor equal the portable ones, bit for bit.
func TestCodeKernelsMatchReference(t *testing.T) {
	if !hasCodeKernels {
		t.Log("THE KERNELS FOR CODES ARE NOT TESTED: this processor has none")
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, code := range []int{1, 2, 7, 96, 257} {
		numbers := randomNumbers(random, code)
		place := (*[byteValues]float32)(numbers[(code-1)*byteValues:])
		low, high, finite := numberBounds(place)
		wantLow, wantHigh, wantFinite := numberBoundsPortable(place)
		if low != wantLow || high != wantHigh || finite != wantFinite {
			t.Errorf("bounds of numbers: got %v, %v, %v; want %v, %v, %v", low, high, finite, wantLow, wantHigh, wantFinite)
		}
		for _, factor := range []float32{0, 255 / (high - low), 1e9} {
			var got, want [byteValues]byte
			stepsAbove(place, low, factor, &got)
			stepsAbovePortable(place, low, factor, &want)
			if got != want {
				t.Errorf("steps by factor %v: got %v, want %v", factor, got, want)
			}
		}
		for n := 1; n <= codeRows; n++ {
			// The codes end with the memory that may be read.
			stride := n + random.IntN(3)
			codes, steps := randomCodes(random, (code-1)*stride+n), randomCodes(random, code*byteValues)
			var got, want [codeRows]uint16
			sumCodes(steps, codes, stride, n, &got)
			sumCodesPortable(steps, codes, stride, n, &want)
			if [codeRows]uint16(append(got[:n:n], want[n:]...)) != want {
				t.Fatalf("sums of %d codes of %d bytes: got %v, want %v", n, code, got[:n], want[:n])
			}
		}
	}
}

func TestNumbersThatAreNotFiniteHaveNoTable(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat32} {
		for _, at := range []int{0, 16, 255, 256 + 77} {
			numbers := randomNumbers(rand.New(rand.NewPCG(3, 4)), 2)
			numbers[at] = float32(bad)
			if newCodeTable(numbers) != nil {
				t.Errorf("numbers with %v at %d have a table", bad, at)
			}
		}
	}
	if newCodeTable(make([]float32, 256)) != nil || newCodeTable(nil) != nil {
		t.Error("numbers that are all the same have a table")
	}
}

func BenchmarkSumCodes(b *testing.B) {
	random := rand.New(rand.NewPCG(7, 8))
	const code, rows = 96, 1024
	numbers := randomNumbers(random, code)
	codes, near := randomCodes(random, code*rows), make([]int32, 0, rows)
	table := newCodeTable(numbers)
	b.Run("table", func(b *testing.B) {
		for b.Loop() {
			newCodeTable(numbers)
		}
	})
	b.Run("near", func(b *testing.B) {
		b.SetBytes(code * rows)
		for b.Loop() {
			table.Near(codes, rows, rows, &Terms{}, table.least+table.half, near)
		}
	})
}
