package bitpack_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"tiltyard/shared/lance/internal/encoding/bitpack"
)

func TestUnpackUndoesPack(t *testing.T) {
	testPacking[uint8](t, 8)
	testPacking[uint16](t, 16)
	testPacking[uint32](t, 32)
	testPacking[uint64](t, 64)
}

func testPacking[T bitpack.Integer](t *testing.T, size int) {
	random := rand.New(rand.NewPCG(1, 2))
	for width := range size + 1 {
		var values, got [bitpack.BlockValues]T
		for i := range values {
			values[i] = T(random.Uint64())
			if width < size {
				values[i] &= T(1)<<width - 1
			}
		}
		packed := make([]T, bitpack.Words[T](width))
		for i := range packed {
			packed[i] = ^T(0) // stale content of the buffer must not matter
		}
		bitpack.Pack(packed, &values, width)
		bitpack.Unpack(&got, packed, width)
		if got != values {
			t.Errorf("%d of %d bits: what was packed is not what is unpacked", width, size)
		}
	}
}

func TestWidthIsThatOfTheLargestValue(t *testing.T) {
	cases := []struct {
		values []uint32
		want   int
	}{{nil, 0}, {[]uint32{0, 0}, 0}, {[]uint32{1, 0}, 1}, {[]uint32{4, 3}, 3}, {[]uint32{1 << 31}, 32}}
	for _, c := range cases {
		if got := bitpack.Width(c.values); got != c.want {
			t.Errorf("widthOf(%v): got %d, want %d", c.values, got, c.want)
		}
	}
}

func BenchmarkPackBlock(b *testing.B) {
	for _, width := range []int{1, 11, 31} {
		b.Run(fmt.Sprintf("uint32/%d", width), func(b *testing.B) {
			var values [bitpack.BlockValues]uint32
			out := make([]uint32, bitpack.Words[uint32](width))
			b.SetBytes(4 * bitpack.BlockValues)
			for b.Loop() {
				bitpack.Pack(out, &values, width)
			}
		})
	}
}
