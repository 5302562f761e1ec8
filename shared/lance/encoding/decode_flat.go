package encoding

import "tiltyard/shared/lance/pb"

// Flat values lie one after the other, as Arrow keeps them:
//
//	values of 1 bit: least significant bit first, 8 to a byte
//	other values:    bits/8 bytes each, little-endian
//
// flatChunks is both the chunk form and, for whole bytes, the value form of Flat.
type flatChunks struct {
	bits int
}

func newFlatChunks(c *pb.Flat, s *shape) (chunkCodec, error) {
	bits, err := flatBits(c)
	if err != nil {
		return nil, err
	}
	if bits != 1 && bits%8 != 0 {
		return nil, corruptf("flat values of %d bits", bits)
	}
	return flatChunks{bits}, wantFixed(s, bits, "flat values")
}

func (flatChunks) buffers() int { return 1 }

func (f flatChunks) decode(dst *values, bufs [][]byte, n int) error {
	size := (n*f.bits + 7) / 8
	if len(bufs[0]) < size {
		return corruptf("%d flat values of %d bits in %d bytes", n, f.bits, len(bufs[0]))
	}
	dst.appendFixed(bufs[0][:size], n)
	return nil
}
