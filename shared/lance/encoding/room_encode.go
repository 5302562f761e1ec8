package encoding

// MaxWaiting is about how many bytes of rows wait for a page of a column at most, but for
// single rows that are larger.
const MaxWaiting = growBytes

// Footprint returns how much memory the encoder keeps for rows, used or not. What Append
// holds on to of an array is not its own.
func (c *ColumnEncoder) Footprint() int {
	size := c.values.footprint() + 2*cap(c.levels.rep) + 2*cap(c.levels.def)
	if c.lender.lent {
		size += cap(c.lender.own) - cap(c.values.fixed)
	}
	if c.repeats.dict != nil {
		size += c.repeats.indices.footprint() + c.repeats.dict.items.footprint()
	}
	if c.dict != nil {
		size += c.dict.items.footprint()
	}
	if c.packer != nil {
		size += c.packer.footprint()
	}
	return size
}

// Trim gives up the memory that the encoder keeps for further rows. It is for after a Flush.
func (c *ColumnEncoder) Trim() {
	c.levels = levelBuffer{}
	c.values = newValues(c.values.shape)
	if c.dict != nil {
		c.dict.items = newValues(c.dict.items.shape)
	}
	if c.packer != nil {
		c.packer.trim()
	}
}

// Footprint returns how much memory the encoder keeps for rows, used or not.
func (c *ColumnEncoderV20) Footprint() int {
	size := 8*cap(c.ends) + cap(c.valid.bytes)
	if c.values != nil {
		size += c.values.footprint()
	}
	if c.dict != nil {
		size += c.dict.items.footprint()
	}
	if c.packer != nil {
		size += c.packer.footprint()
	}
	return size
}

// Trim gives up the memory that the encoder keeps for further rows. It is for after a Flush.
func (c *ColumnEncoderV20) Trim() {
	c.ends, c.valid = nil, bitmap{}
	if c.values != nil {
		c.values = newValues(c.values.shape)
	}
	if c.dict != nil {
		c.dict.items = newValues(c.dict.items.shape)
	}
	if c.packer != nil {
		c.packer.trim()
	}
}

func (p *structPacker) footprint() int {
	size := 0
	for i := range p.members {
		size += p.members[i].values.footprint()
	}
	return size
}

func (p *structPacker) trim() {
	for i := range p.members {
		p.members[i].values = newValues(p.members[i].values.shape)
	}
}
