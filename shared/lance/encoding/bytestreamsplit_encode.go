package encoding

import "tiltyard/shared/lance/pb"

// splitEncoder are values of 32 or 64 bits, all first bytes of a chunk, then all second
// bytes and so on, which compress better than the values; see splitChunks.
type splitEncoder struct {
	fixed []byte
	size  int // bytes of a value
}

// splitChunkBytes is the size of all chunks but the last.
const splitChunkBytes = 4096

func (c *splitEncoder) codec() pb.Codec {
	return &pb.ByteStreamSplit{Values: &pb.Flat{BitsPerValue: uint64(8 * c.size)}}
}

func (c *splitEncoder) buffers() int { return 1 }

func (c *splitEncoder) fit(int) (int, bool) { return splitChunkBytes / c.size, false }

func (c *splitEncoder) append(b []byte, from, to int, sizes []int) []byte {
	start := len(b)
	for plane := range c.size {
		for i := from; i < to; i++ {
			b = append(b, c.fixed[i*c.size+plane])
		}
	}
	sizes[0] = len(b) - start
	return padTo8(b, start)
}
