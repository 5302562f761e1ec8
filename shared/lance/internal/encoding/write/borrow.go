package write

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance/internal/encoding/values"
)

// borrowBytes is the size from which the memory of an array is borrowed instead of copied.
const borrowBytes = 4 << 10

// A lender records that the encoder's values share the memory of an array. The first array of a
// page, which is often all of the page, need not be copied.
type lender struct {
	lent bool
	own  []byte // the memory to use otherwise
}

// borrow makes the values of an array the values of a page without a copy, if they have the same
// layout. It reports whether they do.
func (c *ColumnEncoder) borrow(arr arrow.Array) bool {
	v := c.values
	if c.levels.N > 0 || v.Shape.Kind != values.Fixed || v.Shape.Bits == 1 || c.shredder.Cut || len(c.shredder.Spans) != 1 {
		return false
	}
	fixed := fixedBytes(arr, c.shredder.Spans[0], v.Shape)
	if len(fixed) < borrowBytes {
		return false
	}
	c.lender = lender{lent: true, own: v.Fixed[:0]}
	v.Fixed = fixed
	v.N = c.shredder.Spans[0].To - c.shredder.Spans[0].From
	return true
}

// keep copies borrowed values, so that more can be appended.
func (c *ColumnEncoder) keep() {
	if c.lender.lent {
		c.values.Fixed = append(c.lender.own, c.values.Fixed...)
		c.lender = lender{}
	}
}

// giveBack drops borrowed values.
func (c *ColumnEncoder) giveBack() {
	if c.lender.lent {
		c.values.Fixed = c.lender.own
		c.lender = lender{}
	}
}

// fixedBytes returns the elements of the values in a run of slots, or nil if an item of a
// fixed-size list is null.
func fixedBytes(arr arrow.Array, sp values.Span, s *values.Shape) []byte {
	from := arr.Data().Offset() + sp.From
	for _, dim := range s.Dims {
		list := arr.(*array.FixedSizeList)
		arr = values.Storage(list.ListValues())
		if arr.NullN() > 0 {
			return nil
		}
		from = arr.Data().Offset() + from*dim
	}
	size := s.Bits / 8
	to := from + (sp.To-sp.From)*s.Items
	return values.BufferBytes(arr, 1)[from*size : to*size : to*size]
}
