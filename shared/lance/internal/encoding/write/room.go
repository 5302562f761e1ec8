package write

import (
	"tiltyard/shared/lance/internal/encoding/repdef"
	"tiltyard/shared/lance/internal/encoding/values"
)

// MaxWaiting is about the largest number of bytes that wait for a page of a column; single rows may
// be larger.
const MaxWaiting = growBytes

// Footprint returns the memory allocated for rows, excluding arrays that the encoder refers to.
func (c *ColumnEncoder) Footprint() int {
	size := c.values.Footprint() + 2*cap(c.levels.Rep) + 2*cap(c.levels.Def)
	if c.lender.lent {
		size += cap(c.lender.own) - cap(c.values.Fixed)
	}
	if c.repeats.dict != nil {
		size += c.repeats.indices.Footprint() + c.repeats.dict.Items.Footprint()
	}
	if c.dict != nil {
		size += c.dict.Items.Footprint()
	}
	if c.packer != nil {
		size += c.packer.Footprint()
	}
	return size
}

// Trim frees the memory that the encoder keeps for further rows. Call it after Flush.
func (c *ColumnEncoder) Trim() {
	c.levels = repdef.Buffer{}
	c.values = values.New(c.values.Shape)
	if c.dict != nil {
		c.dict.Items = values.New(c.dict.Items.Shape)
	}
	if c.packer != nil {
		c.packer.Trim()
	}
}
