package values

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Whatever is appended in whatever order, a bitmap has the bits that a slice of them has.
func TestBitmapsHoldWhatIsAppended(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b Bitmap
		var want []bool
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			n := rapid.IntRange(0, 70).Draw(t, "bits")
			bits := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "values")
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0:
				b.AppendOnes(n)
				want = append(want, slices.Repeat([]bool{true}, n)...)
			case 1:
				b.AppendZeros(n)
				want = append(want, make([]bool, n)...)
			case 2:
				for _, bit := range bits {
					b.AppendBit(bit)
				}
				want = append(want, bits...)
			case 3:
				levels := make([]uint16, n)
				for i, bit := range bits {
					if !bit {
						levels[i] = 3
					}
				}
				b.AppendBelow(levels, 3)
				want = append(want, bits...)
			case 4:
				from := rapid.IntRange(0, n).Draw(t, "from")
				src := make([]byte, (n+7)/8)
				for i, bit := range bits {
					if bit {
						setBits(src, i, i+1)
					}
				}
				b.AppendBits(src, from, n)
				want = append(want, bits[from:]...)
			}
		}
		got := make([]bool, b.N)
		for i := range got {
			got[i] = b.Bytes == nil || b.Bytes[i>>3]>>(i&7)&1 == 1
		}
		if diff := cmp.Diff(want, got[:b.N:b.N], cmp.Transformer("list", func(l []bool) []bool { return append([]bool{}, l...) })); diff != "" {
			t.Fatalf("bits (-want +got):\n%s", diff)
		}
		zeros := 0
		for _, bit := range want {
			if !bit {
				zeros++
			}
		}
		if b.Zeros != zeros || (b.Bytes == nil) != (zeros == 0) {
			t.Fatalf("got %d zeros and %d bytes, want %d zeros", b.Zeros, len(b.Bytes), zeros)
		}
	})
}
