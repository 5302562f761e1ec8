package encoding

import (
	"fmt"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
)

// Packed structs of fixed width are stored row by row: the members of the first row in
// their order, each in whole bytes, then those of the second row, and so on.
type packedChunks struct {
	sizes []int // bytes of each member
	row   int   // bytes of all members
}

func newPackedChunks(c *pb.PackedStruct, s *shape) (chunkCodec, error) {
	packed, err := parsePacked(c, s)
	if err != nil {
		return nil, err
	}
	bits, err := flatBits(c.Values)
	if err == nil && bits != 8*packed.row {
		err = corruptf("packed rows of %d bits with members of %d bytes", bits, packed.row)
	}
	return packed, err
}

func parsePacked(c *pb.PackedStruct, s *shape) (*packedChunks, error) {
	if s.kind != shapePacked || len(s.children) != len(c.BitsPerValue) {
		return nil, corruptf("packed struct of %d members for a type of %d", len(c.BitsPerValue), len(s.children))
	}
	packed := &packedChunks{}
	for i, child := range s.children {
		if child.kind != shapeFixed || child.bits == 1 || uint64(child.valueBits()) != c.BitsPerValue[i] {
			return nil, fmt.Errorf("%w: packed struct whose member %d takes %d bits", lance.ErrUnsupported, i, c.BitsPerValue[i])
		}
		packed.sizes = append(packed.sizes, child.valueBits()/8)
		packed.row += child.valueBits() / 8
	}
	if packed.row == 0 || packed.row > maxValueBytes {
		return nil, corruptf("packed rows of %d bytes", packed.row)
	}
	return packed, nil
}

func (*packedChunks) buffers() int { return 1 }

func (c *packedChunks) decode(dst *values, bufs [][]byte, n int) error {
	rows := bufs[0]
	if len(rows)/c.row < n {
		return corruptf("%d packed rows of %d bytes in %d bytes", n, c.row, len(rows))
	}
	at := 0
	for i, size := range c.sizes {
		out := dst.children[i].extendFixed(n)
		for row := range n {
			copy(out[row*size:(row+1)*size], rows[row*c.row+at:])
		}
		at += size
	}
	dst.n += n
	return nil
}
