package pb

func (c *Flat) unmarshalCodec(b []byte, _ int) error {
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			c.BitsPerValue = s.Uint64()
		case 2:
			c.Data = new(BufferCompression)
			scanCompression(s, c.Data)
		}
	}
	return s.Err()
}

func (c *Flat) marshal(e *Encoder) {
	e.Uint64(1, c.BitsPerValue)
	encodeCompression(e, 2, c.Data)
}

func (c *Variable) unmarshalCodec(b []byte, depth int) error {
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			scanCodec(s, &c.Offsets, depth)
		case 2:
			c.Values = new(BufferCompression)
			scanCompression(s, c.Values)
		}
	}
	return s.Err()
}

func (c *Variable) marshal(e *Encoder) {
	encodeCodec(e, 1, c.Offsets)
	encodeCompression(e, 2, c.Values)
}

func (c *Constant) unmarshalCodec(b []byte, _ int) error {
	s := NewScanner(b)
	for s.Next() {
		if s.Num == 1 {
			c.Value = present(s.Bytes())
		}
	}
	return s.Err()
}

func (c *Constant) marshal(e *Encoder) {
	if c.Value != nil {
		e.AlwaysBytes(1, c.Value)
	}
}

func (c *OutOfLineBitpacking) unmarshalCodec(b []byte, depth int) error {
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			c.UncompressedBits = s.Uint64()
		case 3:
			scanCodec(s, &c.Values, depth)
		}
	}
	return s.Err()
}

func (c *OutOfLineBitpacking) marshal(e *Encoder) {
	e.Uint64(1, c.UncompressedBits)
	encodeCodec(e, 3, c.Values)
}

func (c *InlineBitpacking) unmarshalCodec(b []byte, _ int) error {
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			c.UncompressedBits = s.Uint64()
		case 2:
			c.Values = new(BufferCompression)
			scanCompression(s, c.Values)
		}
	}
	return s.Err()
}

func (c *InlineBitpacking) marshal(e *Encoder) {
	e.Uint64(1, c.UncompressedBits)
	encodeCompression(e, 2, c.Values)
}

func (c *FSST) unmarshalCodec(b []byte, depth int) error {
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			c.SymbolTable = s.Bytes()
		case 2:
			scanCodec(s, &c.Values, depth)
		}
	}
	return s.Err()
}

func (c *FSST) marshal(e *Encoder) {
	e.Bytes(1, c.SymbolTable)
	encodeCodec(e, 2, c.Values)
}

func (c *Dictionary) unmarshalCodec(b []byte, depth int) error {
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			scanCodec(s, &c.Indices, depth)
		case 2:
			scanCodec(s, &c.Items, depth)
		case 3:
			c.NumItems = s.Uint32()
		}
	}
	return s.Err()
}

func (c *Dictionary) marshal(e *Encoder) {
	encodeCodec(e, 1, c.Indices)
	encodeCodec(e, 2, c.Items)
	e.Uint64(3, uint64(c.NumItems))
}

func (c *RLE) unmarshalCodec(b []byte, depth int) error {
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			scanCodec(s, &c.Values, depth)
		case 2:
			scanCodec(s, &c.RunLengths, depth)
		}
	}
	return s.Err()
}

func (c *RLE) marshal(e *Encoder) {
	encodeCodec(e, 1, c.Values)
	encodeCodec(e, 2, c.RunLengths)
}

func (c *ByteStreamSplit) unmarshalCodec(b []byte, depth int) error {
	s := NewScanner(b)
	for s.Next() {
		if s.Num == 1 {
			scanCodec(s, &c.Values, depth)
		}
	}
	return s.Err()
}

func (c *ByteStreamSplit) marshal(e *Encoder) { encodeCodec(e, 1, c.Values) }

func (c *General) unmarshalCodec(b []byte, depth int) error {
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			scanCompression(s, &c.Compression)
		case 3:
			scanCodec(s, &c.Values, depth)
		}
	}
	return s.Err()
}

func (c *General) marshal(e *Encoder) {
	encodeCompression(e, 1, &c.Compression)
	encodeCodec(e, 3, c.Values)
}

func (c *FixedSizeList) unmarshalCodec(b []byte, depth int) error {
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			c.ItemsPerValue = s.Uint64()
		case 2:
			scanCodec(s, &c.Values, depth)
		case 3:
			c.HasValidity = s.Bool()
		}
	}
	return s.Err()
}

func (c *FixedSizeList) marshal(e *Encoder) {
	e.Uint64(1, c.ItemsPerValue)
	encodeCodec(e, 2, c.Values)
	e.Bool(3, c.HasValidity)
}

func (c *PackedStruct) unmarshalCodec(b []byte, depth int) error {
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			s.Varints(func(v uint64) { c.BitsPerValue = append(c.BitsPerValue, v) })
		case 2:
			scanCodec(s, &c.Values, depth)
		}
	}
	return s.Err()
}

func (c *PackedStruct) marshal(e *Encoder) {
	Packed(e, 1, c.BitsPerValue)
	encodeCodec(e, 2, c.Values)
}

func (c *VariablePackedStruct) unmarshalCodec(b []byte, depth int) error {
	s := NewScanner(b)
	for s.Next() {
		if s.Num != 1 {
			continue
		}
		var f PackedField
		s.Message(func(b []byte) error { return f.unmarshal(b, depth) })
		c.Fields = append(c.Fields, f)
	}
	return s.Err()
}

func (c *VariablePackedStruct) marshal(e *Encoder) {
	for i := range c.Fields {
		f := &c.Fields[i]
		e.Message(1, func(e *Encoder) {
			encodeCodec(e, 1, f.Value)
			e.Uint64(2, f.BitsPerValue)
			e.Uint64(3, f.BitsPerLength)
		})
	}
}

func (f *PackedField) unmarshal(b []byte, depth int) error {
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			scanCodec(s, &f.Value, depth)
		case 2:
			f.BitsPerValue, f.BitsPerLength = s.Uint64(), 0
		case 3:
			f.BitsPerLength, f.BitsPerValue = s.Uint64(), 0
		}
	}
	return s.Err()
}

func (c *UnknownCodec) unmarshalCodec(b []byte, _ int) error {
	c.raw = b
	return nil
}

func (c *UnknownCodec) marshal(e *Encoder) { e.Unknown(c.raw) }
