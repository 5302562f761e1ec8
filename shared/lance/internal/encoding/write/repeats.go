package write

import (
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/internal/encoding/column"
	"tiltyard/shared/lance/internal/encoding/values"
)

// Each page has a dictionary of its own. If long texts repeat all over a column, short pages would
// make these dictionaries the larger part of the file; and a short page has so few values that it
// may not even show that they repeat. Such a page therefore grows: first with plain values, until
// it is known whether they repeat, and then with indices, whose memory bounds its size.

const (
	// growBytes bounds the leaf memory that is gathered before it becomes indices.
	growBytes = 4 * encoding.PageBytes
	// growRatio is the ratio of a page's indices to its dictionary from which repeating the
	// dictionary in the next page is cheap.
	growRatio = 16
)

// repeats holds the values of the current page that have become indices.
type repeats struct {
	dict     *column.Dictionary // nil while the page holds plain values
	indices  *values.Values
	looked   int  // size of the page when it was last checked for repeated values
	distinct bool // the check found the values not worth a dictionary
}

// memory returns the bytes of the indices and their dictionary.
func (r *repeats) memory() int {
	if r.dict == nil {
		return 0
	}
	return r.indices.Memory() + r.dict.Items.Memory()
}

// isFull reports whether there are enough rows for a page.
func (c *ColumnEncoder) isFull() bool {
	r := &c.repeats
	if r.dict != nil {
		return c.Size()-r.dict.Items.Memory() >= encoding.PageBytes || !c.isDense()
	}
	if c.Size() < max(encoding.PageBytes, 2*r.looked) {
		return false
	}
	return !c.mayRepeat() || !c.findRepeats()
}

// mayRepeat reports whether pages of the column may grow. Only string and binary columns qualify.
func (c *ColumnEncoder) mayRepeat() bool {
	return c.values.Shape.Kind == values.Variable && c.dict == nil && c.packer == nil && !c.leaf.Blob && c.isDense()
}

// isDense reports whether enough of the entries have values. A page of mostly empty lists
// may have to be cut into several, each with the whole dictionary.
func (c *ColumnEncoder) isDense() bool {
	n := c.values.N
	if c.repeats.dict != nil {
		n += c.repeats.indices.N
	}
	return c.levels.N <= 4*n
}

// findRepeats replaces the page's values by indices if that makes them smaller. It reports whether
// the page should grow, with indices or because it is too early to decide.
func (c *ColumnEncoder) findRepeats() bool {
	r := &c.repeats
	r.looked = c.Size()
	if r.distinct = looksDistinct(c.values); r.distinct {
		return false
	}
	p := &pageRows{rules: c.rules, Storage: c.storage, n: c.values.N, values: c.values}
	// A part of the values has a larger fraction of distinct ones than all values.
	indices, dict := p.indexValues(min(c.values.N*3/4, column.DictMaxItems))
	switch {
	case dict == nil:
		r.distinct = true
		return false
	case !p.worthIndexing(dict):
		r.distinct = r.looked >= growBytes
		return !r.distinct
	}
	r.indices, r.dict = indices, dict
	c.values = values.New(c.values.Shape) // frees the memory, which may be large
	return dict.Items.Memory()*growRatio > dict.IndexBytes(indices.N)
}

// appendRepeats replaces the values that were appended since the last call by indices. If too many
// of them are new it changes nothing and returns false.
func (c *ColumnEncoder) appendRepeats() bool {
	r := &c.repeats
	defer c.values.Reset()
	n, items, before := r.indices.N, r.dict.Items.N, r.dict.Items.Memory()
	r.dict.MaxItems = min((n+c.values.N)/c.storage.Options.DictDivisor, column.DictMaxItems)
	known := r.dict.AppendValues(r.indices, c.values, nil)
	if known && 2*(r.dict.Items.Memory()-before) <= c.values.Memory() {
		return true
	}
	r.indices.Truncate(n)
	r.dict.Items.Truncate(items)
	return false
}

// endRepeats forgets the page.
func (c *ColumnEncoder) endRepeats() {
	if c.repeats.looked > encoding.PageBytes+encoding.PageBytes/2 {
		c.values = values.New(c.values.Shape) // it has grown
	}
	c.repeats = repeats{}
}
