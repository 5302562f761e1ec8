package encoding

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// borrowBytes is how much of an array is worth not to be copied.
const borrowBytes = 4 << 10

// A lender is what the encoder's values hold when their memory is an array's: an array
// that a page begins with, and often is all of it, need not be copied first.
type lender struct {
	lent bool
	own  []byte // the memory to use otherwise
}

// borrow takes the values of an array for those of a page, if they lie in it as they do
// in a page, and reports whether they do.
func (c *ColumnEncoder) borrow(arr arrow.Array) bool {
	v := c.values
	if c.levels.n > 0 || v.shape.kind != shapeFixed || v.shape.bits == 1 || c.shredder.cut || len(c.shredder.spans) != 1 {
		return false
	}
	fixed := fixedBytes(arr, c.shredder.spans[0], v.shape)
	if len(fixed) < borrowBytes {
		return false
	}
	c.lender = lender{lent: true, own: v.fixed[:0]}
	v.fixed = fixed
	v.n = c.shredder.spans[0].to - c.shredder.spans[0].from
	return true
}

// keep copies what has been borrowed, to append to it.
func (c *ColumnEncoder) keep() {
	if c.lender.lent {
		c.values.fixed = append(c.lender.own, c.values.fixed...)
		c.lender = lender{}
	}
}

// giveBack forgets what has been borrowed.
func (c *ColumnEncoder) giveBack() {
	if c.lender.lent {
		c.values.fixed = c.lender.own
		c.lender = lender{}
	}
}

// fixedBytes returns the elements of the values in a run of slots, nil when an item of a
// fixed-size list is null.
func fixedBytes(arr arrow.Array, sp span, s *shape) []byte {
	from := arr.Data().Offset() + sp.from
	for _, dim := range s.dims {
		list := arr.(*array.FixedSizeList)
		arr = storage(list.ListValues())
		if arr.NullN() > 0 {
			return nil
		}
		from = arr.Data().Offset() + from*dim
	}
	size := s.bits / 8
	to := from + (sp.to-sp.from)*s.items
	return bufferBytes(arr, 1)[from*size : to*size : to*size]
}
