package float16_test

import (
	"math"
	"testing"

	"tiltyard/shared/process/float16"
)

func TestHalvesSurviveWidening(t *testing.T) {
	for h := range 1 << 16 {
		x := float16.Widen(uint16(h))
		back := float16.Round(float64(x))
		if math.IsNaN(float64(x)) {
			if back&0x7fff <= float16.Inf || back>>15 != uint16(h)>>15 {
				t.Fatalf("NaN %#04x became %#04x", h, back)
			}
			continue
		}
		if back != uint16(h) {
			t.Fatalf("%#04x is %v and became %#04x", h, x, back)
		}
	}
}

func TestRoundTakesTheNearestHalfAndTiesToEven(t *testing.T) {
	for h := range uint16(float16.Inf - 1) {
		lo, hi := float64(float16.Widen(h)), float64(float16.Widen(h+1))
		middle := (lo + hi) / 2
		even := h + h&1
		for _, c := range []struct {
			x    float64
			want uint16
		}{
			{middle, even},
			{math.Nextafter(middle, lo), h},
			{math.Nextafter(middle, hi), h + 1},
			{-middle, even | 0x8000},
		} {
			if got := float16.Round(c.x); got != c.want {
				t.Fatalf("%v between %#04x and %#04x: got %#04x, want %#04x", c.x, h, h+1, got, c.want)
			}
		}
	}
}

// The values come from IEEE 754; halves are written as bits.
func TestHalvesHaveKnownValues(t *testing.T) {
	cases := []struct {
		x    float64
		want uint16
	}{
		{0, 0}, {math.Copysign(0, -1), 0x8000}, {1, 0x3c00}, {-2, 0xc000}, {0.1, 0x2e66}, {1.0 / 3, 0x3555},
		{65504, 0x7bff}, {65519.999, 0x7bff}, {65520, float16.Inf}, {1e300, float16.Inf}, {math.Inf(1), float16.Inf}, {math.Inf(-1), 0xfc00},
		{0x1p-24, 1}, {0x1p-25, 0}, {0x1.0000001p-25, 1}, {0x1.8p-24, 2}, {0x3ffp-24, 0x03ff}, {0x1p-14, 0x0400}, {5e-324, 0},
	}
	for _, c := range cases {
		if got := float16.Round(c.x); got != c.want {
			t.Errorf("%v: got %#04x, want %#04x", c.x, got, c.want)
		}
	}
	for h, want := range map[uint16]float32{0: 0, 1: 0x1p-24, 0x83ff: -0x3ffp-24, 0x0400: 0x1p-14, 0x3c00: 1, 0x7bff: 65504} {
		if got := float16.Widen(h); got != want {
			t.Errorf("%#04x: got %v, want %v", h, got, want)
		}
	}
	if !math.IsNaN(float64(float16.Widen(0x7c01))) || !math.IsInf(float64(float16.Widen(0xfc00)), -1) {
		t.Error("NaN and infinities are not kept")
	}
}
