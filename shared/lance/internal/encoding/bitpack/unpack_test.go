package bitpack_test

import (
	"fmt"
	"testing"
	"unsafe"

	"tiltyard/shared/lance/internal/encoding/bitpack"
)

func BenchmarkUnpackBlock(b *testing.B) {
	b.Run("u8", benchmarkUnpack[uint8])
	b.Run("u16", benchmarkUnpack[uint16])
	b.Run("u32", benchmarkUnpack[uint32])
	b.Run("u64", benchmarkUnpack[uint64])
}

func benchmarkUnpack[T bitpack.Integer](b *testing.B) {
	bits := 8 * int(unsafe.Sizeof(T(0)))
	for _, width := range []int{1, bits/2 - 1, bits} {
		b.Run(fmt.Sprint(width), func(b *testing.B) {
			packed := make([]T, bitpack.Words[T](width))
			var out [bitpack.BlockValues]T
			b.SetBytes(int64(unsafe.Sizeof(out)))
			for b.Loop() {
				bitpack.Unpack(&out, packed, width)
			}
		})
	}
}
