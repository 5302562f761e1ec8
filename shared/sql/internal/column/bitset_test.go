package column

import (
	"testing"

	"pgregory.net/rapid"
)

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
