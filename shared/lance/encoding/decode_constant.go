package encoding

import (
	"encoding/binary"

	"tiltyard/shared/lance/pb"
)

// A constant page has one value for all its rows, or none at all. Its buffers, of which
// either pair may be missing:
//
//	value   unless it is inline (fixed width, at most 32 bytes): the buffers of an Arrow
//	        array of one value without validity: u32 count, u32 length of each, bytes
//	levels  repetition levels and definition levels; an empty one is absent. Plain u16,
//	        or (from 2.2 on) a block of as many as the layout says
//
// Without levels every row is the value; a page that has no value either is all null.
type constant struct {
	*pageContext
	layout   *pb.ConstantLayout
	hasValue bool
	first    int // buffer of repetition levels; 0 or 1
}

func newConstant(p *pageContext, layout *pb.ConstantLayout) (*constant, error) {
	c := &constant{pageContext: p, layout: layout, hasValue: layout.InlineValue != nil}
	var err error
	if p.plan, err = planLayers(layout.Layers, p.path); err != nil {
		return nil, err
	}
	buffers := len(p.sizes)
	if buffers%2 == 1 {
		if c.hasValue {
			return nil, corruptf("constant page with two values")
		}
		c.hasValue, c.first = true, 1
	}
	if buffers > 3 {
		return nil, corruptf("constant page of %d buffers", buffers)
	}
	if p.plan.lists > 0 && buffers < 2 {
		return nil, corruptf("constant page of lists without levels")
	}
	if err := checkLevels(layout.RepCompression); err != nil {
		return nil, err
	}
	return c, checkLevels(layout.DefCompression)
}

// hasLevels reports whether the page has buffers for levels.
func (c *constant) hasLevels() bool { return len(c.sizes) >= 2 }

func (c *constant) read(fetch Fetch, room Room, rows []RowRange) (*Items, error) {
	var value []byte
	if c.first == 1 {
		value = c.fetchAll(fetch, 0)
	}
	entries, ok, err := c.fetchLevels(fetch, room)
	if err != nil || !ok || c.first == 1 && value == nil {
		return nil, err
	}
	all := &Items{plan: c.plan, levels: entries, values: room.values(&shape{kind: shapeNull, items: 1})}
	if err := c.plan.check(entries); err != nil {
		return nil, err
	}
	all.values.n = entries.n
	if entries.def != nil {
		all.values.n = c.plan.visibleIn(entries.def)
	}
	out := &Items{plan: c.plan}
	collect := itemCollector{items: out}
	if err := collect.add(all, 0, c.rows, rows); err != nil {
		return nil, err
	}
	if out.values == nil {
		out.values = all.values
		out.values.n = 0
	}
	return out, c.fill(out, room, value)
}

// fetchLevels returns the levels of the whole page; ok is false when bytes are missing.
func (c *constant) fetchLevels(fetch Fetch, room Room) (l levels, ok bool, err error) {
	if !c.hasLevels() {
		l.n = c.rows
		return l, true, nil
	}
	rep, def := c.fetchAll(fetch, c.first), c.fetchAll(fetch, c.first+1)
	if rep == nil || def == nil {
		return l, false, nil
	}
	if l.rep, err = c.levels(room, c.layout.RepCompression, rep, c.layout.NumRepValues); err != nil {
		return l, true, err
	}
	if l.def, err = c.levels(room, c.layout.DefCompression, def, c.layout.NumDefValues); err != nil {
		return l, true, err
	}
	switch {
	case l.rep != nil:
		l.n = len(l.rep)
	case l.def != nil:
		l.n = len(l.def)
	default:
		l.n = c.rows
	}
	return l, true, nil
}

// levels decodes a buffer of levels. The result is no part of the buffer: it is changed
// when it is unravelled.
func (c *constant) levels(room Room, codec pb.Codec, buf []byte, n uint64) ([]uint16, error) {
	if len(buf) == 0 && n == 0 {
		return nil, nil
	}
	if codec == nil {
		raw, err := rawLevels16(buf, len(buf)/2)
		return append([]uint16(nil), raw...), err
	}
	count, err := toInt(n)
	if err != nil {
		return nil, err
	}
	if err := room.takeItems(count, entryBytes); err != nil {
		return nil, err
	}
	decoded, err := appendLevels(nil, codec, buf, count)
	return append([]uint16(nil), decoded...), err
}

// fill gives all items their value.
func (c *constant) fill(it *Items, room Room, value []byte) error {
	n := it.values.n
	if !c.hasValue {
		it.values, it.allNull = room.values(c.shape), true
		if c.isDictionary() {
			it.indices = make([]uint32, n)
			it.values.n = 0
			return nil
		}
		return it.values.appendEmpties(n)
	}
	one, err := c.parseValue(value)
	if err != nil {
		return err
	}
	if c.isDictionary() {
		it.values, it.indices = one, make([]uint32, n)
		return nil
	}
	it.values = room.values(c.shape)
	if one.shape.kind == shapeFixed && one.shape.bits > 1 && one.valid == nil {
		return it.values.repeatFixed(one.fixed, n)
	}
	return it.values.take(one, make([]uint32, n))
}

// parseValue returns the value of the page: one of the leaf's shape.
func (c *constant) parseValue(buf []byte) (*values, error) {
	one := newValues(c.shape)
	if c.layout.InlineValue != nil && c.shape.kind == shapeFixed && c.shape.bits == 0 {
		one.n = 1 // the only value of no bytes
		return one, nil
	}
	if c.layout.InlineValue != nil {
		fixed, err := newFixedValue(&pb.Flat{BitsPerValue: uint64(max(c.shape.bits, 8))}, c.shape)
		if err != nil {
			return nil, err
		}
		return one, fixed.decode(one, c.layout.InlineValue, 1, fixed.size())
	}
	bufs, err := splitArrowBuffers(buf)
	if err != nil {
		return nil, err
	}
	switch {
	case c.shape.kind == shapeVariable && len(bufs) == 2:
		return one, one.appendArrowValue(bufs[0], bufs[1])
	case c.shape.kind == shapeFixed && len(bufs) == 1 && c.shape.bits > 1 && len(bufs[0]) == c.shape.valueBits()/8:
		one.appendFixed(bufs[0], 1)
		return one, nil
	}
	return nil, corruptf("constant value of %d buffers for another type", len(bufs))
}

// splitArrowBuffers returns the buffers of a constant value.
func splitArrowBuffers(buf []byte) ([][]byte, error) {
	if len(buf) < 4 {
		return nil, corruptf("constant value of %d bytes", len(buf))
	}
	n := int(binary.LittleEndian.Uint32(buf))
	lengths := buf[4:]
	if n > 3 || len(lengths) < 4*n {
		return nil, corruptf("constant value of %d buffers in %d bytes", n, len(buf))
	}
	data := lengths[4*n:]
	bufs := make([][]byte, n)
	for i := range bufs {
		size := binary.LittleEndian.Uint32(lengths[4*i:])
		if uint64(size) > uint64(len(data)) {
			return nil, corruptf("constant value of %d bytes in %d", size, len(data))
		}
		bufs[i], data = data[:size], data[size:]
	}
	return bufs, nil
}

// appendArrowValue appends the one value of an Arrow array: two offsets, then bytes.
func (v *values) appendArrowValue(offsets, data []byte) error {
	width := len(offsets) / 2
	if width != 4 && width != 8 {
		return corruptf("constant value with %d bytes of offsets", len(offsets))
	}
	parsed, err := parseOffsets(offsets, 1, width)
	if err != nil {
		return err
	}
	if int(parsed[1]) > len(data) {
		return corruptf("constant value of %d bytes up to %d", len(data), parsed[1])
	}
	return v.appendValue(data[parsed[0]:parsed[1]])
}
