package read

import (
	"slices"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/internal/encoding/repdef"
	"tiltyard/shared/lance/internal/encoding/values"
)

// check returns an error unless the levels are valid and account for all stored values.
func (it *Items) check() error {
	if err := it.plan.Check(it.levels); err != nil {
		return err
	}
	visible := it.visible(0, it.levels.N)
	if visible != it.Values.N {
		return lance.Corruptf("%d stored values where levels tell of %d", it.Values.N, visible)
	}
	return nil
}

// reset empties items so that their memory can be used for the next part.
func (it *Items) reset() {
	it.levels = repdef.Levels{Rep: it.levels.Rep[:0], Def: it.levels.Def[:0]}
	it.Values.Empty()
}

// An itemCollector cuts rows out of decoded parts and joins them.
type itemCollector struct {
	items  *Items
	copies bool // parts are used again: take nothing of their memory
	taken  bool // items holds the first piece
}

// add takes the given rows, which ascend, out of a decoded part in which rows [first, last) begin.
// Entries before the first of them belong to a row that began in an earlier part.
func (c *itemCollector) add(part *Items, first, last int, rows []encoding.RowRange) error {
	entry, value, row := 0, 0, first
	advance := func(to int) error {
		end := part.levels.N
		if to < last {
			end = part.entryOfRow(entry, row, to)
		}
		if end < entry || to > last {
			return lance.Corruptf("row %d is not in the chunks where it should be", to)
		}
		value += part.visible(entry, end)
		entry, row = end, to
		return nil
	}
	// Skip the end of a row that began in an earlier part.
	if part.levels.Rep != nil {
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
	top := uint16(it.plan.Lists)
	for ; entry < len(it.levels.Rep); entry++ {
		if it.levels.Rep[entry] == top {
			break
		}
	}
	return entry
}

// entryOfRow returns the entry at which row to begins, or the end of the entries, given that row
// begins at entry. It returns -1 if there are too few rows.
func (it *Items) entryOfRow(entry, row, to int) int {
	if it.levels.Rep == nil {
		if to-row > it.levels.N-entry {
			return -1
		}
		return entry + to - row
	}
	for ; row < to; row++ {
		if entry == len(it.levels.Rep) {
			return -1
		}
		entry = it.nextRow(entry + 1)
	}
	return entry
}

// visible counts the stored values of entries [from, to).
func (it *Items) visible(from, to int) int {
	if it.levels.Def == nil {
		return to - from
	}
	if it.plan.Lists == 0 {
		return to - from // a value is stored for every row
	}
	return it.plan.VisibleIn(it.levels.Def[from:to])
}

// take adds a run of entries and a run of values of a part.
func (c *itemCollector) take(part *Items, fromEntry, toEntry, fromValue, toValue int) error {
	it := c.items
	if !c.taken && !c.copies {
		c.taken = true
		it.levels.N = toEntry - fromEntry
		if part.levels.Rep != nil {
			it.levels.Rep = slices.Clip(part.levels.Rep[fromEntry:toEntry])
		}
		if part.levels.Def != nil {
			it.levels.Def = slices.Clip(part.levels.Def[fromEntry:toEntry])
		}
		var err error
		it.Values, err = part.Values.Span(fromValue, toValue)
		return err
	}
	if it.Values == nil {
		it.Values = part.Values.Room.Values(part.Values.Shape)
	}
	it.levels.N += toEntry - fromEntry
	if part.levels.Rep != nil {
		it.levels.Rep = append(it.levels.Rep, part.levels.Rep[fromEntry:toEntry]...)
	}
	if part.levels.Def != nil {
		it.levels.Def = append(it.levels.Def, part.levels.Def[fromEntry:toEntry]...)
	}
	return it.appendValues(part.Values, fromValue, toValue)
}

// appendValues appends values [from, to) of src. If the values so far are a window of another
// part's memory, it copies them first.
func (it *Items) appendValues(src *values.Values, from, to int) error {
	if it.Values.IsWindow() {
		own := it.Values.Room.Values(it.Values.Shape)
		if err := own.AppendRange(it.Values, 0, it.Values.N); err != nil {
			return err
		}
		it.Values = own
	}
	return it.Values.AppendRange(src, from, to)
}

// lookUp replaces indices into the page's dictionary by the items of the dictionary. For a leaf of
// a dictionary type the indices stay.
func (it *Items) lookUp(p *pageContext, room values.Room, dict *values.Values) error {
	if dict == nil {
		return it.wrapDictionary(p)
	}
	indices, err := it.Values.AsIndices(dict.N)
	if err != nil {
		return err
	}
	if p.isDictionary() {
		it.Indices, it.Values = indices, dict
		return nil
	}
	it.Values = room.Values(p.shape)
	return it.Values.Take(dict, indices)
}

// wrapDictionary wraps values that were stored without a dictionary if the leaf has a dictionary
// type.
func (it *Items) wrapDictionary(p *pageContext) error {
	if !p.isDictionary() {
		return nil
	}
	it.Indices = make([]uint32, it.Values.N)
	for i := range it.Indices {
		it.Indices[i] = uint32(i)
	}
	return nil
}

// footprint returns the memory allocated for the items.
func (it *Items) footprint() int {
	return 2*cap(it.levels.Rep) + 2*cap(it.levels.Def) + it.Values.Footprint()
}
