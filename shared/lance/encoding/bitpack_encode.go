package encoding

import "tiltyard/shared/lance/pb"

// packedEncoder are integers (or anything else of 8, 16, 32 or 64 bits) in 1024s, each
// with the width of its widest:
//
//	T          width W in bits
//	T × words  1024·W/T, see packBlock; zeros after the last value
type packedEncoder[T packable] struct {
	values []T
}

// packedSize returns how many words the chunks of values take.
func packedSize[T packable](values []T) int {
	words := 0
	for len(values) > 0 {
		n := min(len(values), packedValues)
		words += 1 + packedWords[T](widthOf(values[:n]))
		values = values[n:]
	}
	return words
}

func (c *packedEncoder[T]) codec() pb.Codec {
	return &pb.InlineBitpacking{UncompressedBits: uint64(packedValues / packedWords[T](1))}
}

func (c *packedEncoder[T]) buffers() int { return 1 }

func (c *packedEncoder[T]) fit(int) (int, bool) { return packedValues, true }

func (c *packedEncoder[T]) append(b []byte, from, to int, sizes []int) []byte {
	var block, words [packedValues]T
	copy(block[:], c.values[from:to])
	width := widthOf(c.values[from:to])
	packed := words[:packedWords[T](width)]
	packBlock(packed, &block, width)
	start := len(b)
	b = append(b, bytesOf([]T{T(width)})...)
	b = append(b, bytesOf(packed)...)
	sizes[0] = len(b) - start
	return padTo8(b, start)
}
