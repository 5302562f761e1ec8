package cast

import (
	"math"
	"testing"
)

func TestFloatsPrintAsInRust(t *testing.T) {
	cases := []struct {
		f    float64
		bits int
		want string
	}{
		{0, 64, "0.0"}, {math.Copysign(0, -1), 64, "-0.0"}, {1, 64, "1.0"}, {-1.5, 64, "-1.5"}, {0.1, 64, "0.1"},
		{1e15, 64, "1000000000000000.0"}, {1e16, 64, "1e16"}, {123456789012345680, 64, "1.2345678901234568e17"},
		{1.5e300, 64, "1.5e300"}, {1e-6, 64, "1e-6"}, {0.00001, 64, "0.00001"}, {0.00001234, 64, "0.00001234"},
		{math.Inf(1), 64, "inf"}, {math.Inf(-1), 64, "-inf"}, {math.NaN(), 64, "NaN"},
		{1e12, 32, "1000000000000.0"}, {1e13, 32, "1e13"}, {float64(float32(0.1)), 32, "0.1"}, {1e-6, 32, "0.000001"}, {1e-7, 32, "1e-7"},
	}
	for _, c := range cases {
		if got := string(appendFloat(nil, c.f, c.bits)); got != c.want {
			t.Errorf("%v in %d bits: got %s, want %s", c.f, c.bits, got, c.want)
		}
	}
}
