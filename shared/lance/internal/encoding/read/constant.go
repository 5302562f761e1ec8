package read

import (
	"encoding/binary"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/internal/encoding/codec"
	"tiltyard/shared/lance/internal/encoding/repdef"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// A constant page stores one value for all its rows, or none at all. Its buffers are the following;
// either of the two may be missing:
//
//	value   unless it is inline (fixed width, at most 32 bytes): the buffers of an Arrow
//	        array of one value without validity: u32 count, u32 length of each, bytes
//	levels  repetition levels and definition levels; an empty one is absent. Plain u16,
//	        or (from 2.2 on) a block; the layout has their number
//
// Without levels every row has the value; if there is no value either, every row is null. A value
// buffer with the text "ab" is
//
//	02 00 00 00               two buffers
//	08 00 00 00 02 00 00 00   of 8 and 2 bytes
//	00 00 00 00 02 00 00 00   offsets 0 and 2
//	61 62                     ab
type constant struct {
	*pageContext
	layout   *pb.ConstantLayout
	hasValue bool
	first    int // buffer of repetition levels; 0 or 1
}

// newConstant validates the buffers. An odd number means that the value is in a buffer, because
// levels come in pairs.
func newConstant(p *pageContext, layout *pb.ConstantLayout) (*constant, error) {
	c := &constant{pageContext: p, layout: layout, hasValue: layout.InlineValue != nil}
	var err error
	if p.plan, err = repdef.NewPlan(layout.Layers, p.path); err != nil {
		return nil, err
	}
	buffers := len(p.sizes)
	if buffers%2 == 1 {
		if c.hasValue {
			return nil, lance.Corruptf("constant page with two values")
		}
		c.hasValue, c.first = true, 1
	}
	if buffers > 3 {
		return nil, lance.Corruptf("constant page of %d buffers", buffers)
	}
	if p.plan.Lists > 0 && buffers < 2 {
		return nil, lance.Corruptf("constant page of lists without levels")
	}
	if err := codec.CheckLevels(layout.RepCompression); err != nil {
		return nil, err
	}
	return c, codec.CheckLevels(layout.DefCompression)
}

// hasLevels reports whether the page has buffers for levels.
func (c *constant) hasLevels() bool { return len(c.sizes) >= 2 }

// read repeats the value, or null, for the rows. Levels are decoded whole and then cut.
func (c *constant) read(fetch encoding.Fetch, room values.Room, rows []encoding.RowRange) (*Items, error) {
	var value []byte
	if c.first == 1 {
		value = c.fetchAll(fetch, 0)
	}
	entries, ok, err := c.fetchLevels(fetch, room)
	if err != nil || !ok || c.first == 1 && value == nil {
		return nil, err
	}
	all := &Items{plan: c.plan, levels: entries, Items: values.Items{Values: room.Values(&values.Shape{Kind: values.Null, Items: 1})}}
	if err := c.plan.Check(entries); err != nil {
		return nil, err
	}
	all.Values.N = entries.N
	if entries.Def != nil {
		all.Values.N = c.plan.VisibleIn(entries.Def)
	}
	out := &Items{plan: c.plan}
	collect := itemCollector{items: out}
	if err := collect.add(all, 0, c.rows, rows); err != nil {
		return nil, err
	}
	if out.Values == nil {
		out.Values = all.Values
		out.Values.N = 0
	}
	return out, c.fill(out, room, value)
}

// fetchLevels returns the levels of the whole page; ok is false if bytes are missing.
func (c *constant) fetchLevels(fetch encoding.Fetch, room values.Room) (l repdef.Levels, ok bool, err error) {
	if !c.hasLevels() {
		l.N = c.rows
		return l, true, nil
	}
	rep, def := c.fetchAll(fetch, c.first), c.fetchAll(fetch, c.first+1)
	if rep == nil || def == nil {
		return l, false, nil
	}
	if l.Rep, err = c.levels(room, c.layout.RepCompression, rep, c.layout.NumRepValues); err != nil {
		return l, true, err
	}
	if l.Def, err = c.levels(room, c.layout.DefCompression, def, c.layout.NumDefValues); err != nil {
		return l, true, err
	}
	switch {
	case l.Rep != nil:
		l.N = len(l.Rep)
	case l.Def != nil:
		l.N = len(l.Def)
	default:
		l.N = c.rows
	}
	return l, true, nil
}

// levels decodes a buffer of levels. The result is a copy, because the unraveler changes it.
func (c *constant) levels(room values.Room, compression pb.Codec, buf []byte, n uint64) ([]uint16, error) {
	if len(buf) == 0 && n == 0 {
		return nil, nil
	}
	if compression == nil {
		raw, err := codec.PlainLevels(buf, len(buf)/2)
		return append([]uint16(nil), raw...), err
	}
	count, err := toInt(n)
	if err != nil {
		return nil, err
	}
	if err := room.TakeItems(count, entryBytes); err != nil {
		return nil, err
	}
	decoded, err := codec.AppendLevels(nil, compression, buf, count)
	return append([]uint16(nil), decoded...), err
}

// fill sets the value of all items.
func (c *constant) fill(it *Items, room values.Room, value []byte) error {
	n := it.Values.N
	if !c.hasValue {
		it.Values, it.allNull = room.Values(c.shape), true
		if c.isDictionary() {
			it.Indices = make([]uint32, n)
			it.Values.N = 0
			return nil
		}
		return it.Values.AppendEmpties(n)
	}
	one, err := c.parseValue(value)
	if err != nil {
		return err
	}
	if c.isDictionary() {
		it.Values, it.Indices = one, make([]uint32, n)
		return nil
	}
	it.Values = room.Values(c.shape)
	if one.Shape.Kind == values.Fixed && one.Shape.Bits > 1 && one.Valid == nil {
		return it.Values.RepeatFixed(one.Fixed, n)
	}
	return it.Values.Take(one, make([]uint32, n))
}

// parseValue returns the value of the page: one of the leaf's shape.
func (c *constant) parseValue(buf []byte) (*values.Values, error) {
	one := values.New(c.shape)
	if c.layout.InlineValue != nil && c.shape.Kind == values.Fixed && c.shape.Bits == 0 {
		one.N = 1 // the only value of no bytes
		return one, nil
	}
	if c.layout.InlineValue != nil {
		fixed, err := codec.NewFixedValue(&pb.Flat{BitsPerValue: uint64(max(c.shape.Bits, 8))}, c.shape)
		if err != nil {
			return nil, err
		}
		return one, fixed.Decode(one, c.layout.InlineValue, 1, fixed.Size())
	}
	bufs, err := splitArrowBuffers(buf)
	if err != nil {
		return nil, err
	}
	switch {
	case c.shape.Kind == values.Variable && len(bufs) == 2:
		return one, appendArrowValue(one, bufs[0], bufs[1])
	case c.shape.Kind == values.Fixed && len(bufs) == 1 && c.shape.Bits > 1 && len(bufs[0]) == c.shape.ValueBits()/8:
		one.AppendFixed(bufs[0], 1)
		return one, nil
	}
	return nil, lance.Corruptf("constant value of %d buffers for another type", len(bufs))
}

// splitArrowBuffers returns the buffers of a constant value.
func splitArrowBuffers(buf []byte) ([][]byte, error) {
	if len(buf) < 4 {
		return nil, lance.Corruptf("constant value of %d bytes", len(buf))
	}
	n := int(binary.LittleEndian.Uint32(buf))
	lengths := buf[4:]
	if n > 3 || len(lengths) < 4*n {
		return nil, lance.Corruptf("constant value of %d buffers in %d bytes", n, len(buf))
	}
	data := lengths[4*n:]
	bufs := make([][]byte, n)
	for i := range bufs {
		size := binary.LittleEndian.Uint32(lengths[4*i:])
		if uint64(size) > uint64(len(data)) {
			return nil, lance.Corruptf("constant value of %d bytes in %d", size, len(data))
		}
		bufs[i], data = data[:size], data[size:]
	}
	return bufs, nil
}

// appendArrowValue appends the one value of an Arrow array: two offsets, then bytes.
func appendArrowValue(v *values.Values, offsets, data []byte) error {
	width := len(offsets) / 2
	if width != 4 && width != 8 {
		return lance.Corruptf("constant value with %d bytes of offsets", len(offsets))
	}
	parsed, err := codec.ParseOffsets(offsets, 1, width)
	if err != nil {
		return err
	}
	if int(parsed[1]) > len(data) {
		return lance.Corruptf("constant value of %d bytes up to %d", len(data), parsed[1])
	}
	return v.AppendValue(data[parsed[0]:parsed[1]])
}
