package codec

import (
	"unsafe"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/encoding/bitpack"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// bitpackedChunks are chunks of at most 1024 integers of T bits. A chunk begins with the width of
// its packed integers:
//
//	0    T bits  W, the width of the packed values
//	T/8  words   1024*W/T words, see bitpack.Unpack; missing values are packed as zeros
type bitpackedChunks[T bitpack.Integer] struct{}

// newBitpackedChunks returns the decoder for the width of the unpacked values: 8, 16, 32 or 64
// bits.
func newBitpackedChunks(c *pb.InlineBitpacking, s *values.Shape) (ChunkDecoder, error) {
	if c.Values != nil {
		return nil, unsupportedCodec("bit-packed values with buffer compression", c)
	}
	if err := WantFixed(s, int(min(c.UncompressedBits, 1<<20)), "bit-packed values"); err != nil {
		return nil, err
	}
	switch c.UncompressedBits {
	case 8:
		return bitpackedChunks[uint8]{}, nil
	case 16:
		return bitpackedChunks[uint16]{}, nil
	case 32:
		return bitpackedChunks[uint32]{}, nil
	case 64:
		return bitpackedChunks[uint64]{}, nil
	}
	return nil, lance.Corruptf("bit-packed values of %d bits", c.UncompressedBits)
}

func (bitpackedChunks[T]) Buffers() int { return 1 }

// Decode unpacks the block of a chunk: one word with the bit width, then the packed words.
func (bitpackedChunks[T]) Decode(dst *values.Values, bufs [][]byte, n int) error {
	if n == 0 {
		return nil // the width is unknown too
	}
	if n > bitpack.BlockValues {
		return lance.Corruptf("%d values in a bit-packed block", n)
	}
	size := int(unsafe.Sizeof(T(0)))
	words := values.ViewAs[T](bufs[0])
	if len(words) == 0 || uint64(words[0]) > uint64(8*size) || len(words)-1 < bitpack.Words[T](int(words[0])) {
		return lance.Corruptf("bit-packed block of %d bytes is cut short", len(bufs[0]))
	}
	unpackInto(dst, words[1:], int(words[0]), n)
	return nil
}

// unpackInto appends the first n values of a packed block.
func unpackInto[T bitpack.Integer](dst *values.Values, packed []T, width, n int) {
	out := values.ViewAs[T](dst.ExtendFixed(n))
	if n == bitpack.BlockValues {
		bitpack.Unpack((*[bitpack.BlockValues]T)(out), packed, width)
		return
	}
	var block [bitpack.BlockValues]T
	bitpack.Unpack(&block, packed, width)
	copy(out, block[:n])
}

// decodeOutOfLine decodes the block form, in which the page description sets one width for all
// values: packed blocks of 1024 values, then the remaining values. These are either plain words or
// one more block, padded with zeros, whichever is smaller. The buffer length distinguishes the two.
// For example, 1100 values of 16 bits packed in 4 bits are one block of 256 words, then either 76
// plain words or 256 packed ones; writers choose the 76.
func decodeOutOfLine[T bitpack.Integer](dst *values.Values, buf []byte, width, n int) error {
	words := values.ViewAs[T](buf)
	block := bitpack.Words[T](width)
	full, rest := n/bitpack.BlockValues, n%bitpack.BlockValues
	if width > 8*int(unsafe.Sizeof(T(0))) || len(words) < full*block {
		return lance.Corruptf("%d values packed in %d bits are cut short at %d bytes", n, width, len(buf))
	}
	for range full {
		unpackInto(dst, words[:block], width, bitpack.BlockValues)
		words = words[block:]
	}
	switch {
	case rest == 0:
		return nil
	case len(words) == rest:
		dst.AppendFixed(values.BytesOf(words), rest)
	case len(words) >= block:
		unpackInto(dst, words, width, rest)
	default:
		return lance.Corruptf("last %d of %d packed values are cut short", rest, n)
	}
	return nil
}

// packedEncoder encodes integers (or any values of 8, 16, 32 or 64 bits) in chunks of 1024, each
// with the width of its widest value:
//
//	T          width W in bits
//	T × words  1024·W/T, see bitpack.Pack; zeros after the last value
type packedEncoder[T bitpack.Integer] struct {
	values []T
}

// PackedSize returns the number of words of the packed values.
func PackedSize[T bitpack.Integer](numbers []T) int {
	words := 0
	for len(numbers) > 0 {
		n := min(len(numbers), bitpack.BlockValues)
		words += 1 + bitpack.Words[T](bitpack.Width(numbers[:n]))
		numbers = numbers[n:]
	}
	return words
}

// NewPackedEncoder returns an encoder of integers.
func NewPackedEncoder[T bitpack.Integer](numbers []T) ChunkEncoder { return &packedEncoder[T]{numbers} }

func (c *packedEncoder[T]) Codec() pb.Codec {
	return &pb.InlineBitpacking{UncompressedBits: uint64(bitpack.BlockValues / bitpack.Words[T](1))}
}

func (c *packedEncoder[T]) Buffers() int { return 1 }

func (c *packedEncoder[T]) Fit(int) (int, bool) { return bitpack.BlockValues, true }

// Append packs up to 1024 values by the width of the largest and puts that width before them.
func (c *packedEncoder[T]) Append(b []byte, from, to int, sizes []int) []byte {
	var block, words [bitpack.BlockValues]T
	copy(block[:], c.values[from:to])
	width := bitpack.Width(c.values[from:to])
	packed := words[:bitpack.Words[T](width)]
	bitpack.Pack(packed, &block, width)
	start := len(b)
	b = append(b, values.BytesOf([]T{T(width)})...)
	b = append(b, values.BytesOf(packed)...)
	sizes[0] = len(b) - start
	return PadTo8(b, start)
}

// AppendBitpacked appends the block form of OutOfLineBitpacking.
func AppendBitpacked[T bitpack.Integer](b []byte, integers []T, width int) []byte {
	var packed [bitpack.BlockValues]T
	words := packed[:bitpack.Words[T](width)]
	for len(integers) >= bitpack.BlockValues {
		bitpack.Pack(words, (*[bitpack.BlockValues]T)(integers), width)
		b = append(b, values.BytesOf(words)...)
		integers = integers[bitpack.BlockValues:]
	}
	if !packsTail(len(integers), len(words)) {
		return append(b, values.BytesOf(integers)...)
	}
	var block [bitpack.BlockValues]T
	copy(block[:], integers)
	bitpack.Pack(words, &block, width)
	return append(b, values.BytesOf(words)...)
}
