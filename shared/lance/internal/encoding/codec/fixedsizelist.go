package codec

import (
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// listChunks are chunks of fixed-size lists. Lists are flattened: n lists of d items are n*d items
// without any structure of their own. A level with validity has a bitmap of its n*d items in a
// buffer before the items, 1 for valid:
//
//	validity of the outermost items, if they may be null
//	validity of the items of these, if they may be null
//	the elements
//
// The two lists of u8 [1, null, 3] and [4, 5, 6] have the buffers
//
//	3d                  bits 1 0 1 1 1 1, low bit first
//	01 00 03 04 05 06   the byte of a null is arbitrary
type listChunks struct {
	levels []listLevel
	bits   int // of an element; 0 when the innermost items are all null and not stored
}

// A listLevel is one level of fixed-size lists.
type listLevel struct {
	items       int // of this level in one value
	hasValidity bool
}

func newListChunks(c *pb.FixedSizeList, s *values.Shape) (ChunkDecoder, error) {
	lists, err := parseLists(c, s)
	if err != nil {
		return nil, err
	}
	return lists, nil
}

// parseLists checks the levels of fixed-size lists against the shape of the values.
func parseLists(c *pb.FixedSizeList, s *values.Shape) (*listChunks, error) {
	lists := &listChunks{}
	if s.Kind != values.Fixed {
		return nil, lance.Corruptf("fixed-size lists for values of another type")
	}
	items := 1
	for depth := 0; ; depth++ {
		if depth == len(s.Dims) || c.ItemsPerValue != uint64(s.Dims[depth]) {
			return nil, lance.Corruptf("fixed-size lists of %d items for lists of another length", c.ItemsPerValue)
		}
		items *= s.Dims[depth]
		lists.levels = append(lists.levels, listLevel{items, c.HasValidity})
		inner, nested := c.Values.(*pb.FixedSizeList)
		if !nested {
			break
		}
		c = inner
	}
	// A constant in place of the items means that all of them are null.
	if _, allNull := c.Values.(*pb.Constant); allNull {
		if lists.Buffers() == 1 {
			return nil, lance.Corruptf("list items without values or validity")
		}
		return lists, nil
	}
	if len(lists.levels) != len(s.Dims) {
		return nil, lance.Corruptf("fixed-size lists nested %d deep for a type of %d", len(lists.levels), len(s.Dims))
	}
	var err error
	lists.bits, err = flatBits(c.Values)
	if err == nil && lists.bits != s.Bits && (lists.bits != 8 || s.Bits != 1) {
		err = lance.Corruptf("list items of %d bits for a type of %d", lists.bits, s.Bits)
	}
	return lists, err
}

// Buffers counts one validity bitmap per dimension with nulls, and the items.
func (c *listChunks) Buffers() int {
	n := 1
	for _, level := range c.levels {
		if level.hasValidity {
			n++
		}
	}
	return n
}

// Decode appends n lists: the validity of each dimension, then their items.
func (c *listChunks) Decode(dst *values.Values, bufs [][]byte, n int) error {
	items := n * dst.Shape.Items
	elements := bufs[len(bufs)-1]
	if len(elements) < (items*c.bits+7)/8 {
		return lance.Corruptf("%d list items of %d bits in %d bytes", items, c.bits, len(elements))
	}
	if len(bufs) > 1 || dst.Valid != nil {
		dst.NeedValidity()
		if err := c.appendValidity(dst, bufs, n); err != nil {
			return err
		}
	}
	switch c.bits {
	case 0:
		return dst.AppendElements(n)
	case dst.Shape.Bits:
	default:
		return dst.AppendBooleans(elements, n)
	}
	dst.AppendFixed(elements[:(items*c.bits+7)/8], n)
	return nil
}

// appendValidity appends the validity of each dimension. A dimension without a bitmap has no nulls.
func (c *listChunks) appendValidity(dst *values.Values, bufs [][]byte, n int) error {
	for depth, level := range c.levels {
		items := n * level.items
		if !level.hasValidity {
			dst.Valid[depth].AppendOnes(items)
			continue
		}
		if len(bufs[0]) < (items+7)/8 {
			return lance.Corruptf("validity of %d list items in %d bytes", items, len(bufs[0]))
		}
		dst.Valid[depth].AppendBits(bufs[0], 0, items)
		bufs = bufs[1:]
	}
	for depth := len(c.levels); depth < len(dst.Valid); depth++ {
		dst.Valid[depth].AppendOnes(n * values.ItemsAt(dst.Shape, depth)) // inside of nulls
	}
	return nil
}
