package encoding

import (
	"unsafe"

	"tiltyard/shared/lance/encoding/bitpack"
	"tiltyard/shared/lance/pb"
)

// bitpackedChunks are chunks of at most 1024 integers of T bits behind their width:
//
//	0    T bits  W, the width of the packed values
//	T/8  words   1024*W/T words, see bitpack.Unpack; missing values are packed as zeros
type bitpackedChunks[T bitpack.Integer] struct{}

func newBitpackedChunks(c *pb.InlineBitpacking, s *shape) (chunkCodec, error) {
	if c.Values != nil {
		return nil, unsupportedCodec("bit-packed values with buffer compression", c)
	}
	if err := wantFixed(s, int(min(c.UncompressedBits, 1<<20)), "bit-packed values"); err != nil {
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
	return nil, corruptf("bit-packed values of %d bits", c.UncompressedBits)
}

func (bitpackedChunks[T]) buffers() int { return 1 }

func (bitpackedChunks[T]) decode(dst *values, bufs [][]byte, n int) error {
	if n == 0 {
		return nil // and then there is no width either
	}
	if n > bitpack.BlockValues {
		return corruptf("%d values in a bit-packed block", n)
	}
	size := int(unsafe.Sizeof(T(0)))
	words := viewAs[T](bufs[0])
	if len(words) == 0 || uint64(words[0]) > uint64(8*size) || len(words)-1 < bitpack.Words[T](int(words[0])) {
		return corruptf("bit-packed block of %d bytes is cut short", len(bufs[0]))
	}
	unpackInto(dst, words[1:], int(words[0]), n)
	return nil
}

// unpackInto appends the first n values of a packed block.
func unpackInto[T bitpack.Integer](dst *values, packed []T, width, n int) {
	out := viewAs[T](dst.extendFixed(n))
	if n == bitpack.BlockValues {
		bitpack.Unpack((*[bitpack.BlockValues]T)(out), packed, width)
		return
	}
	var block [bitpack.BlockValues]T
	bitpack.Unpack(&block, packed, width)
	copy(out, block[:n])
}

// decodeOutOfLine is the block form with one width for all values: packed blocks of 1024
// one after the other, then the values that do not fill a block. These are plain words
// or one more block, padded, whichever the writer found smaller; the length tells.
func decodeOutOfLine[T bitpack.Integer](dst *values, buf []byte, width, n int) error {
	words := viewAs[T](buf)
	block := bitpack.Words[T](width)
	full, rest := n/bitpack.BlockValues, n%bitpack.BlockValues
	if width > 8*int(unsafe.Sizeof(T(0))) || len(words) < full*block {
		return corruptf("%d values packed in %d bits are cut short at %d bytes", n, width, len(buf))
	}
	for range full {
		unpackInto(dst, words[:block], width, bitpack.BlockValues)
		words = words[block:]
	}
	switch {
	case rest == 0:
		return nil
	case len(words) == rest:
		dst.appendFixed(bytesOf(words), rest)
	case len(words) >= block:
		unpackInto(dst, words, width, rest)
	default:
		return corruptf("last %d of %d packed values are cut short", rest, n)
	}
	return nil
}
