package column

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestHalvesConvertExactly(t *testing.T) {
	for h := range 1 << 16 {
		f := Half(h).float32()
		if f != f {
			continue
		}
		if got := HalfOf(float64(f)); got != Half(h) {
			t.Fatalf("half %#04x is %v, which rounds to %#04x", h, f, got)
		}
		// Halfway to the next one the even one wins.
		if next := Half(h + 1).float32(); h&0x7fff < 0x7bff {
			want := Half(h + h&1)
			if got := HalfOf((float64(f) + float64(next)) / 2); got != want {
				t.Fatalf("between %#04x and the next: got %#04x, want %#04x", h, got, want)
			}
		}
	}
	for f, want := range map[float64]Half{65519.9: 0x7bff, 65520: 0x7c00, -1e9: 0xfc00, 1e-9: 0, math.Inf(1): 0x7c00} {
		if got := HalfOf(f); got != want {
			t.Errorf("%v: got %#04x, want %#04x", f, got, want)
		}
	}
}

func TestBitsetsMoveToAnyOffset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bitmap := rapid.SliceOfN(rapid.Byte(), 40, 40).Draw(t, "bitmap")
		offset := rapid.IntRange(0, 100).Draw(t, "offset")
		n := rapid.IntRange(0, 320-offset).Draw(t, "n")
		b := bitsetOf(bitmap, offset, n)
		count := 0
		for i := range n {
			want := bitmap[(offset+i)/8]>>((offset+i)%8)&1 == 1
			if b.Has(i) != want {
				t.Fatalf("bit %d of %d from offset %d: got %v, want %v", i, n, offset, b.Has(i), want)
			}
			if want {
				count++
			}
		}
		if b.Count() != count || b.Invert(n).Count() != n-count {
			t.Fatalf("%d bits from offset %d: got %d set and %d not, want %d set", n, offset, b.Count(), b.Invert(n).Count(), count)
		}
	})
}
