package vector

import (
	"math"
	"testing"
)

func TestHalvesSurviveWidening(t *testing.T) {
	for h := range 1 << 16 {
		x := halfToFloat32(uint16(h))
		back := roundToHalf(x)
		if math.IsNaN(float64(x)) {
			if back&0x7fff <= halfInf {
				t.Fatalf("NaN %#04x became %#04x", h, back)
			}
			continue
		}
		if back != uint16(h) {
			t.Fatalf("%#04x is %v and became %#04x", h, x, back)
		}
	}
}

func TestHalvesAreNearestAndTiesEven(t *testing.T) {
	for h := range uint16(halfInf - 1) {
		lo, hi := halfToFloat32(h), halfToFloat32(h+1)
		middle := (lo + hi) / 2
		even := h + h&1
		for _, c := range []struct {
			x    float32
			want uint16
		}{
			{middle, even},
			{math.Nextafter32(middle, lo), h},
			{math.Nextafter32(middle, hi), h + 1},
			{-middle, even | 0x8000},
		} {
			if got := roundToHalf(c.x); got != c.want {
				t.Fatalf("%v between %#04x and %#04x: got %#04x, want %#04x", c.x, h, h+1, got, c.want)
			}
		}
	}
}

func TestHalvesHaveKnownValues(t *testing.T) {
	inf := float32(math.Inf(1))
	cases := []struct {
		x    float32
		want uint16
	}{
		{0, 0}, {float32(math.Copysign(0, -1)), 0x8000}, {1, 0x3c00}, {-2, 0xc000}, {0.1, 0x2e66},
		{65504, 0x7bff}, {65519.996, 0x7bff}, {65520, halfInf}, {1e30, halfInf}, {inf, halfInf}, {-inf, 0xfc00},
		{0x1p-24, 1}, {0x1p-25, 0}, {0x1.8p-24, 2}, {1e-40, 0}, {0x1p-14, 0x0400},
	}
	for _, c := range cases {
		if got := RoundToFloat16([]float32{c.x})[0]; got != c.want {
			t.Errorf("%v: got %#04x, want %#04x", c.x, got, c.want)
		}
	}
}
