package version20

import "tiltyard/shared/lance/internal/encoding/values"

// Footprint returns the memory allocated for rows.
func (c *ColumnEncoder) Footprint() int {
	size := 8*cap(c.ends) + cap(c.valid.Bytes)
	if c.values != nil {
		size += c.values.Footprint()
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
	c.ends, c.valid = nil, values.Bitmap{}
	if c.values != nil {
		c.values = values.New(c.values.Shape)
	}
	if c.dict != nil {
		c.dict.Items = values.New(c.dict.Items.Shape)
	}
	if c.packer != nil {
		c.packer.Trim()
	}
}
