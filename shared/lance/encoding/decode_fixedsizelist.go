package encoding

import (
	"math"

	"tiltyard/shared/lance/pb"
)

// Fixed-size lists are flattened: n lists of d items are n*d items, which have no
// structure of their own. A level with validity has a bitmap of its n*d items in a
// buffer before theirs, 1 for valid.
//
//	validity of the outermost items, if they may be null
//	validity of the items of these, if ...
//	the elements
type listChunks struct {
	levels []listLevel
	bits   int // of an element; 0 when the innermost items are all null and not stored
}

// A listLevel is one level of fixed-size lists.
type listLevel struct {
	items       int // of this level in one value
	hasValidity bool
}

func newListChunks(c *pb.FixedSizeList, s *shape) (chunkCodec, error) {
	lists, err := parseLists(c, s)
	if err != nil {
		return nil, err
	}
	return lists, nil
}

// parseLists checks the levels of fixed-size lists against the shape of the values.
func parseLists(c *pb.FixedSizeList, s *shape) (*listChunks, error) {
	lists := &listChunks{}
	if s.kind != shapeFixed {
		return nil, corruptf("fixed-size lists for values of another type")
	}
	items := 1
	for depth := 0; ; depth++ {
		if depth == len(s.dims) || c.ItemsPerValue != uint64(s.dims[depth]) {
			return nil, corruptf("fixed-size lists of %d items for lists of another length", c.ItemsPerValue)
		}
		items *= s.dims[depth]
		lists.levels = append(lists.levels, listLevel{items, c.HasValidity})
		inner, nested := c.Values.(*pb.FixedSizeList)
		if !nested {
			break
		}
		c = inner
	}
	if _, allNull := c.Values.(*pb.Constant); allNull {
		if lists.buffers() == 1 {
			return nil, corruptf("list items without values or validity")
		}
		return lists, nil
	}
	if len(lists.levels) != len(s.dims) {
		return nil, corruptf("fixed-size lists nested %d deep for a type of %d", len(lists.levels), len(s.dims))
	}
	var err error
	lists.bits, err = flatBits(c.Values)
	if err == nil && lists.bits != s.bits && (lists.bits != 8 || s.bits != 1) {
		err = corruptf("list items of %d bits for a type of %d", lists.bits, s.bits)
	}
	return lists, err
}

func (c *listChunks) buffers() int {
	n := 1
	for _, level := range c.levels {
		if level.hasValidity {
			n++
		}
	}
	return n
}

func (c *listChunks) decode(dst *values, bufs [][]byte, n int) error {
	items := n * dst.shape.items
	elements := bufs[len(bufs)-1]
	if len(elements) < (items*c.bits+7)/8 {
		return corruptf("%d list items of %d bits in %d bytes", items, c.bits, len(elements))
	}
	if len(bufs) > 1 || dst.valid != nil {
		dst.needValidity()
		if err := c.appendValidity(dst, bufs, n); err != nil {
			return err
		}
	}
	switch c.bits {
	case 0:
		return dst.appendElements(n)
	case dst.shape.bits:
	default:
		return dst.appendWideBits(elements, n)
	}
	dst.appendFixed(elements[:(items*c.bits+7)/8], n)
	return nil
}

func (c *listChunks) appendValidity(dst *values, bufs [][]byte, n int) error {
	for depth, level := range c.levels {
		items := n * level.items
		if !level.hasValidity {
			dst.valid[depth].appendOnes(items)
			continue
		}
		if len(bufs[0]) < (items+7)/8 {
			return corruptf("validity of %d list items in %d bytes", items, len(bufs[0]))
		}
		dst.valid[depth].appendBits(bufs[0], 0, items)
		bufs = bufs[1:]
	}
	for depth := len(c.levels); depth < len(dst.valid); depth++ {
		dst.valid[depth].appendOnes(n * itemsAt(dst.shape, depth)) // inside of nulls
	}
	return nil
}

// itemsAt returns how many items one value has at a depth of fixed-size lists.
func itemsAt(s *shape, depth int) int {
	items := 1
	for _, dim := range s.dims[:depth+1] {
		items *= dim
	}
	return items
}

// appendWideBits appends n values of one-bit elements that take a whole byte each.
func (v *values) appendWideBits(src []byte, n int) error {
	elements := n * v.shape.items
	if len(src) < elements {
		return corruptf("%d booleans in %d bytes", elements, len(src))
	}
	packed := make([]byte, (elements+7)/8)
	for i, b := range src[:elements] {
		if b&1 != 0 {
			packed[i>>3] |= 1 << (i & 7)
		}
	}
	v.appendFixedBits(packed, 0, elements)
	v.n += n
	return nil
}

// appendElements appends n values of zeros whose validity has been appended.
func (v *values) appendElements(n int) error {
	if bits := v.shape.valueBits(); bits > 0 && n > 8*math.MaxInt32/bits {
		return errTooLarge
	}
	if err := v.room.takeItems(n, v.shape.fixedBytes()); err != nil {
		return err
	}
	if v.shape.bits == 1 {
		elements := n * v.shape.items
		v.appendFixedBits(make([]byte, (elements+7)/8), 0, elements)
		v.n += n
		return nil
	}
	clear(v.extendFixed(n))
	return nil
}
