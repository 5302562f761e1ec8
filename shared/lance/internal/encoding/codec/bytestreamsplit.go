package codec

import (
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// splitChunks are chunks of values of w bytes that store first the first bytes of all n values,
// then all second bytes, and so on: w planes of n bytes. Floats compress better in this order,
// because their exponents come together. The two u32 0x04030201 and 0x14131211 are
//
//	01 11 02 12 03 13 04 14
type splitChunks struct {
	size int // bytes of a value: 4 or 8
}

// newSplitChunks returns the decoder of 32-bit and 64-bit values; others are never split.
func newSplitChunks(c *pb.ByteStreamSplit, s *values.Shape) (ChunkDecoder, error) {
	bits, err := flatBits(c.Values)
	if err != nil {
		return nil, err
	}
	if bits != 32 && bits != 64 {
		return nil, lance.Corruptf("split values of %d bits", bits)
	}
	return splitChunks{bits / 8}, WantFixed(s, bits, "split values")
}

func (splitChunks) Buffers() int { return 1 }

// Decode interleaves the planes: byte k of all values is stored before byte k+1.
func (c splitChunks) Decode(dst *values.Values, bufs [][]byte, n int) error {
	planes := bufs[0]
	if len(planes) < n*c.size {
		return lance.Corruptf("%d split values in %d bytes", n, len(planes))
	}
	out := dst.ExtendFixed(n)
	for plane := range c.size {
		at := plane
		for _, b := range planes[plane*n : (plane+1)*n] {
			out[at] = b
			at += c.size
		}
	}
	return nil
}

// splitEncoder encodes values of 32 or 64 bits in the order that splitChunks describes.
type splitEncoder struct {
	fixed []byte
	size  int // bytes of a value
}

// splitChunkBytes is the size of all chunks but the last.
const splitChunkBytes = 4096

// NewSplitEncoder returns an encoder of fixed-width values of size bytes.
func NewSplitEncoder(fixed []byte, size int) ChunkEncoder { return &splitEncoder{fixed, size} }

func (c *splitEncoder) Codec() pb.Codec {
	return &pb.ByteStreamSplit{Values: &pb.Flat{BitsPerValue: uint64(8 * c.size)}}
}

func (c *splitEncoder) Buffers() int { return 1 }

func (c *splitEncoder) Fit(int) (int, bool) { return splitChunkBytes / c.size, false }

// Append stores byte 0 of all values, then byte 1, and so on.
func (c *splitEncoder) Append(b []byte, from, to int, sizes []int) []byte {
	start := len(b)
	for plane := range c.size {
		for i := from; i < to; i++ {
			b = append(b, c.fixed[i*c.size+plane])
		}
	}
	sizes[0] = len(b) - start
	return PadTo8(b, start)
}
