package encoding

// Each page has a dictionary of its own. Of long texts that repeat all over a column the
// dictionaries would be most of a file whose pages were as short as those of others, and
// the few values of such a page need not even show that they repeat. So the page grows: at
// first as it is, until its values are seen to repeat or not to, and then as indices,
// whose memory bounds it.

const (
	// growBytes is how much of a leaf is gathered at most before it has become indices.
	growBytes = 4 * pageBytes
	// growRatio is how many times larger than its dictionary the indices of a page are when
	// it does not matter that the next page repeats it.
	growRatio = 16
)

// repeats are the values of a page to be that have become indices.
type repeats struct {
	dict     *dictionaryBuilder // nil while the values are as they are
	indices  *values
	looked   int  // size of the page when its values have last been looked at
	distinct bool // they were not worth a dictionary
}

// memory returns how many bytes the indices and what they stand for take.
func (r *repeats) memory() int {
	if r.dict == nil {
		return 0
	}
	return r.indices.memory() + r.dict.items.memory()
}

// isFull reports whether the rows are enough for a page.
func (c *ColumnEncoder) isFull() bool {
	r := &c.repeats
	if r.dict != nil {
		return c.Size()-r.dict.items.memory() >= pageBytes || !c.isDense()
	}
	if c.Size() < max(pageBytes, 2*r.looked) {
		return false
	}
	return !c.mayRepeat() || !c.findRepeats()
}

// mayRepeat reports whether pages of the column may grow: those of texts and bytes may.
func (c *ColumnEncoder) mayRepeat() bool {
	return c.values.shape.kind == shapeVariable && c.dict == nil && c.packer == nil && !c.leaf.Blob && c.isDense()
}

// isDense reports whether enough of the entries have values. A page of mostly empty lists
// may have to be cut into several, each with the whole dictionary.
func (c *ColumnEncoder) isDense() bool {
	n := c.values.n
	if c.repeats.dict != nil {
		n += c.repeats.indices.n
	}
	return c.levels.n <= 4*n
}

// findRepeats makes indices of the page's values if that pays. It reports whether the
// page should grow, be it only to see whether it will pay.
func (c *ColumnEncoder) findRepeats() bool {
	r := &c.repeats
	r.looked = c.Size()
	if r.distinct = looksDistinct(c.values); r.distinct {
		return false
	}
	p := &pageRows{rules: c.rules, storageChoice: c.storage, n: c.values.n, values: c.values}
	// The first of many values have relatively more distinct ones among them than all.
	indices, dict := p.indexValues(min(c.values.n*3/4, dictMaxItems))
	switch {
	case dict == nil:
		r.distinct = true
		return false
	case !p.worthIndexing(dict):
		r.distinct = r.looked >= growBytes
		return !r.distinct
	}
	r.indices, r.dict = indices, dict
	c.values = newValues(c.values.shape) // without the memory, which may be much
	return dict.items.memory()*growRatio > dict.indexBytes(indices.n)
}

// appendRepeats makes indices of the values that have been appended since there are
// indices. It makes none and reports false when too many of them are new.
func (c *ColumnEncoder) appendRepeats() bool {
	r := &c.repeats
	defer c.values.reset()
	n, items, before := r.indices.n, r.dict.items.n, r.dict.items.memory()
	r.dict.maxItems = min((n+c.values.n)/c.storage.options.dictDivisor, dictMaxItems)
	known := r.dict.appendValues(r.indices, c.values, nil)
	if known && 2*(r.dict.items.memory()-before) <= c.values.memory() {
		return true
	}
	r.indices.truncate(n)
	r.dict.items.truncate(items)
	return false
}

// endRepeats forgets all about the page.
func (c *ColumnEncoder) endRepeats() {
	if c.repeats.looked > pageBytes+pageBytes/2 {
		c.values = newValues(c.values.shape) // it has grown
	}
	c.repeats = repeats{}
}
