package encoding

import "tiltyard/shared/lance/pb"

// Split values have all their first bytes stored together, then all their second bytes,
// and so on, which makes floats easier to compress: n values of w bytes are w planes of
// n bytes.
type splitChunks struct {
	size int // bytes of a value: 4 or 8
}

func newSplitChunks(c *pb.ByteStreamSplit, s *shape) (chunkCodec, error) {
	bits, err := flatBits(c.Values)
	if err != nil {
		return nil, err
	}
	if bits != 32 && bits != 64 {
		return nil, corruptf("split values of %d bits", bits)
	}
	return splitChunks{bits / 8}, wantFixed(s, bits, "split values")
}

func (splitChunks) buffers() int { return 1 }

func (c splitChunks) decode(dst *values, bufs [][]byte, n int) error {
	planes := bufs[0]
	if len(planes) < n*c.size {
		return corruptf("%d split values in %d bytes", n, len(planes))
	}
	out := dst.extendFixed(n)
	for plane := range c.size {
		at := plane
		for _, b := range planes[plane*n : (plane+1)*n] {
			out[at] = b
			at += c.size
		}
	}
	return nil
}
