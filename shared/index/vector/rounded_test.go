package vector

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The kernel rounds as the reference does; its sums have another order.
func TestRoundedIsThatOfTheReference(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 9))
	for _, n := range []int{0, 8, 16, 128, 776} {
		for _, highest := range []int32{1, 15, 255} {
			sizes := make([]float32, n)
			for i := range sizes {
				sizes[i] = float32(math.Abs(random.NormFloat64()))
			}
			for _, scale := range []float32{0, 1e-30, 0.3, 7, 300, 1e8} {
				product, squares := Rounded(sizes, scale, highest)
				wanted, wantedSquares := roundedPortable(sizes, scale, highest)
				if squares != wantedSquares || math.Abs(product-wanted) > 1e-12*wanted {
					t.Errorf("%d sizes by %v, at most %d: %v, %d, want %v, %d", n, scale, highest, product, squares, wanted, wantedSquares)
				}
			}
		}
	}
}
