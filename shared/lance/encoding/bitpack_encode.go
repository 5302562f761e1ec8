package encoding

import (
	"tiltyard/shared/lance/encoding/bitpack"
	"tiltyard/shared/lance/pb"
)

// packedEncoder are integers (or anything else of 8, 16, 32 or 64 bits) in 1024s, each
// with the width of its widest:
//
//	T          width W in bits
//	T × words  1024·W/T, see bitpack.Pack; zeros after the last value
type packedEncoder[T bitpack.Integer] struct {
	values []T
}

// packedSize returns how many words the chunks of values take.
func packedSize[T bitpack.Integer](values []T) int {
	words := 0
	for len(values) > 0 {
		n := min(len(values), bitpack.BlockValues)
		words += 1 + bitpack.Words[T](bitpack.Width(values[:n]))
		values = values[n:]
	}
	return words
}

func (c *packedEncoder[T]) codec() pb.Codec {
	return &pb.InlineBitpacking{UncompressedBits: uint64(bitpack.BlockValues / bitpack.Words[T](1))}
}

func (c *packedEncoder[T]) buffers() int { return 1 }

func (c *packedEncoder[T]) fit(int) (int, bool) { return bitpack.BlockValues, true }

func (c *packedEncoder[T]) append(b []byte, from, to int, sizes []int) []byte {
	var block, words [bitpack.BlockValues]T
	copy(block[:], c.values[from:to])
	width := bitpack.Width(c.values[from:to])
	packed := words[:bitpack.Words[T](width)]
	bitpack.Pack(packed, &block, width)
	start := len(b)
	b = append(b, bytesOf([]T{T(width)})...)
	b = append(b, bytesOf(packed)...)
	sizes[0] = len(b) - start
	return padTo8(b, start)
}
