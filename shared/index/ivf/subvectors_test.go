package ivf

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// 4-bit codes are stored in pairs, so the default number of sub-vectors is even.
func TestUsualSubVectorsFitTheBits(t *testing.T) {
	for _, c := range []struct{ dim, bits, want int }{
		{16, 8, 1}, {16, 4, 2}, {32, 4, 2}, {48, 8, 3}, {48, 4, 6}, {8, 4, 2}, {24, 4, 6}, {6, 4, 2}, {6, 8, 1}, {7, 8, 1}, {7, 4, 0},
	} {
		column := arrow.FixedSizeListOf(int32(c.dim), arrow.PrimitiveTypes.Float32)
		got, err := Recipe{Kind: "IVF_PQ", Metric: "l2", Bits: c.bits}.Complete(column)
		if (err != nil) != (c.want == 0) || err == nil && got.SubVectors != c.want {
			t.Errorf("%d dimensions, %d bits: got %d sub-vectors and error %v, want %d", c.dim, c.bits, got.SubVectors, err, c.want)
		}
	}
}
