package codec

import (
	"fmt"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// A PackedStruct decodes packed structs of fixed width. They are stored row by row: the members of
// the first row in their order, each in whole bytes, then those of the second row, and so on. The
// rows {u8 1, u16 2} and {u8 3, u16 4} are
//
//	01 02 00 03 04 00
type PackedStruct struct {
	sizes    []int // bytes of each member
	RowBytes int   // bytes of all members
}

func newPackedStruct(c *pb.PackedStruct, s *values.Shape) (ChunkDecoder, error) {
	packed, err := ParsePackedStruct(c, s)
	if err != nil {
		return nil, err
	}
	bits, err := flatBits(c.Values)
	if err == nil && bits != 8*packed.RowBytes {
		err = lance.Corruptf("packed rows of %d bits with members of %d bytes", bits, packed.RowBytes)
	}
	return packed, err
}

// ParsePackedStruct checks the members of packed structs against the shape of the values.
func ParsePackedStruct(c *pb.PackedStruct, s *values.Shape) (*PackedStruct, error) {
	if s.Kind != values.Packed || len(s.Children) != len(c.BitsPerValue) {
		return nil, lance.Corruptf("packed struct of %d members for a type of %d", len(c.BitsPerValue), len(s.Children))
	}
	packed := &PackedStruct{}
	for i, child := range s.Children {
		if child.Kind != values.Fixed || child.Bits == 1 || uint64(child.ValueBits()) != c.BitsPerValue[i] {
			return nil, fmt.Errorf("%w: packed struct whose member %d takes %d bits", lance.ErrUnsupported, i, c.BitsPerValue[i])
		}
		packed.sizes = append(packed.sizes, child.ValueBits()/8)
		packed.RowBytes += child.ValueBits() / 8
	}
	if packed.RowBytes == 0 || packed.RowBytes > values.MaxValueBytes {
		return nil, lance.Corruptf("packed rows of %d bytes", packed.RowBytes)
	}
	return packed, nil
}

// Buffers returns 1.
func (*PackedStruct) Buffers() int { return 1 }

// Decode appends n rows to dst.
func (c *PackedStruct) Decode(dst *values.Values, bufs [][]byte, n int) error {
	rows := bufs[0]
	if len(rows)/c.RowBytes < n {
		return lance.Corruptf("%d packed rows of %d bytes in %d bytes", n, c.RowBytes, len(rows))
	}
	at := 0
	for i, size := range c.sizes {
		out := dst.Children[i].ExtendFixed(n)
		for row := range n {
			copy(out[row*size:(row+1)*size], rows[row*c.RowBytes+at:])
		}
		at += size
	}
	dst.N += n
	return nil
}
