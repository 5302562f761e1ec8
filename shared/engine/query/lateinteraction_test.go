package query

import (
	"math"
	"testing"
)

func TestFloatsInTheirTotalOrder(t *testing.T) {
	negative := math.Float32frombits(math.Float32bits(float32(math.NaN())) | 1<<31)
	order := []float32{negative, float32(math.Inf(-1)), -1, 0, 2, float32(math.Inf(1)), float32(math.NaN())}
	for i, a := range order {
		for j, b := range order {
			if got := totalLess(a, b); got != (i < j) {
				t.Errorf("totalLess(%v, %v) is %v", a, b, got)
			}
		}
	}
}
