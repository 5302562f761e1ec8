package encoding

import (
	"math"
	"slices"
)

// check returns an error unless the levels are sound and tell of as many stored values
// as there are.
func (it *Items) check() error {
	if err := it.plan.check(it.levels); err != nil {
		return err
	}
	visible := it.visible(0, it.levels.n)
	if visible != it.values.n {
		return corruptf("%d stored values where levels tell of %d", it.values.n, visible)
	}
	return nil
}

// reset empties items that are to be decoded anew into the same memory.
func (it *Items) reset() {
	it.levels = levels{rep: it.levels.rep[:0], def: it.levels.def[:0]}
	it.values.empty()
}

// empty drops all values, also those of members of packed structs, but no memory.
func (v *values) empty() {
	v.reset()
	for _, child := range v.children {
		child.empty()
	}
}

// An itemCollector cuts rows out of decoded parts and puts them together.
type itemCollector struct {
	items  *Items
	copies bool // parts are used again: take nothing of their memory
	taken  bool // items holds the first piece
}

// add takes rows, which are ascending, out of a decoded part in which rows [first, last)
// begin. What comes before the first of them is the end of another row.
func (c *itemCollector) add(part *Items, first, last int, rows []RowRange) error {
	entry, value, row := 0, 0, first
	advance := func(to int) error {
		end := part.levels.n
		if to < last {
			end = part.entryOfRow(entry, row, to)
		}
		if end < entry || to > last {
			return corruptf("row %d is not in the chunks where it should be", to)
		}
		value += part.visible(entry, end)
		entry, row = end, to
		return nil
	}
	if part.levels.rep != nil {
		entry = part.nextRow(0)
		value = part.visible(0, entry)
	}
	for _, r := range rows {
		if err := advance(r.From); err != nil {
			return err
		}
		fromEntry, fromValue := entry, value
		if err := advance(r.To); err != nil {
			return err
		}
		if err := c.take(part, fromEntry, entry, fromValue, value); err != nil {
			return err
		}
	}
	return nil
}

// nextRow returns the first entry at or after entry where a row begins.
func (it *Items) nextRow(entry int) int {
	top := uint16(it.plan.lists)
	for ; entry < len(it.levels.rep); entry++ {
		if it.levels.rep[entry] == top {
			break
		}
	}
	return entry
}

// entryOfRow returns the entry where row to begins, or the end of the entries, when row
// begins at entry; -1 when there are not so many rows.
func (it *Items) entryOfRow(entry, row, to int) int {
	if it.levels.rep == nil {
		if to-row > it.levels.n-entry {
			return -1
		}
		return entry + to - row
	}
	for ; row < to; row++ {
		if entry == len(it.levels.rep) {
			return -1
		}
		entry = it.nextRow(entry + 1)
	}
	return entry
}

// visible counts the stored values of entries [from, to).
func (it *Items) visible(from, to int) int {
	if it.levels.def == nil {
		return to - from
	}
	if it.plan.lists == 0 {
		return to - from // a value is stored for every row
	}
	return it.plan.visibleIn(it.levels.def[from:to])
}

// take adds entries and values of a part.
func (c *itemCollector) take(part *Items, fromEntry, toEntry, fromValue, toValue int) error {
	it := c.items
	if !c.taken && !c.copies {
		c.taken = true
		it.levels.n = toEntry - fromEntry
		if part.levels.rep != nil {
			it.levels.rep = slices.Clip(part.levels.rep[fromEntry:toEntry])
		}
		if part.levels.def != nil {
			it.levels.def = slices.Clip(part.levels.def[fromEntry:toEntry])
		}
		var err error
		it.values, err = part.values.span(fromValue, toValue)
		return err
	}
	if it.values == nil {
		it.values = part.values.room.values(part.values.shape)
	}
	it.levels.n += toEntry - fromEntry
	if part.levels.rep != nil {
		it.levels.rep = append(it.levels.rep, part.levels.rep[fromEntry:toEntry]...)
	}
	if part.levels.def != nil {
		it.levels.def = append(it.levels.def, part.levels.def[fromEntry:toEntry]...)
	}
	return it.appendValues(part.values, fromValue, toValue)
}

// appendValues appends values [from, to) of src. The values so far may share memory
// with what they were cut from, and may be a window of variable values.
func (it *Items) appendValues(src *values, from, to int) error {
	if it.values.isWindow() {
		own := it.values.room.values(it.values.shape)
		if err := own.appendRange(it.values, 0, it.values.n); err != nil {
			return err
		}
		it.values = own
	}
	return it.values.appendRange(src, from, to)
}

// isWindow reports whether variable values are part of other ones: then nothing can be
// appended to them.
func (v *values) isWindow() bool {
	return v.shape.kind == shapeVariable && (v.offsets[0] != 0 || int(v.offsets[v.n]) != len(v.data))
}

// lookUp replaces indices into the page's dictionary by what they stand for; for leaves
// of a dictionary type they stay indices.
func (it *Items) lookUp(p *pageContext, room Room, dict *values) error {
	if dict == nil {
		return it.wrapDictionary(p)
	}
	indices, err := it.values.asIndices(dict.n)
	if err != nil {
		return err
	}
	if p.isDictionary() {
		it.indices, it.values = indices, dict
		return nil
	}
	it.values = room.values(p.shape)
	return it.values.take(dict, indices)
}

// wrapDictionary makes a dictionary of values that were stored without one, when the
// leaf has a dictionary type.
func (it *Items) wrapDictionary(p *pageContext) error {
	if !p.isDictionary() {
		return nil
	}
	it.indices = make([]uint32, it.values.n)
	for i := range it.indices {
		it.indices[i] = uint32(i)
	}
	return nil
}

// asIndices returns integers as indices below limit. The result is never nil, which
// would stand for no dictionary.
func (v *values) asIndices(limit int) ([]uint32, error) {
	if v.n == 0 {
		return []uint32{}, nil
	}
	var indices []uint32
	switch v.shape.bits {
	case 8:
		indices = widen(v.fixed)
	case 16:
		indices = widen(viewAs[uint16](v.fixed))
	case 32:
		indices = viewAs[uint32](v.fixed)
	case 64:
		indices = make([]uint32, v.n)
		for i, index := range viewAs[uint64](v.fixed) {
			indices[i] = uint32(min(index, math.MaxUint32))
		}
	}
	for _, index := range indices {
		if int(index) >= limit {
			return nil, corruptf("index %d into a dictionary of %d items", index, limit)
		}
	}
	return indices, nil
}

func widen[T uint8 | uint16](v []T) []uint32 {
	wide := make([]uint32, len(v))
	for i, x := range v {
		wide[i] = uint32(x)
	}
	return wide
}
