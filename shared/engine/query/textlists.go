package query

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/index/inverted"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/process/memory"
)

// textLists are the text indices on the columns of a search, one of them at least. In the fragments that
// indices on all columns cover, the search finds rows by their posting lists and reads no texts. In the
// others it reads texts, but the indices tell how many documents hold a term: an index counts those of
// deleted rows until it is rebuilt, and of rows that were deleted before it was built it knows nothing.
type textLists struct {
	dataset *dataset.Dataset
	search  *fulltext.Search
	columns []*listColumn // by column of the search
	// bound is what rows must score to be wanted; nil if it is not known from the terms alone.
	bound *inverted.Bound

	// What was read, or found in memory: partitions, blocks of posting lists, and rows in these.
	partitions, blocks, scored int
}

// A listColumn is the text index on a column.
type listColumn struct {
	index    *snapshot.Index // nil: none covers any fragment
	elements bool            // documents are elements of lists
	segments []*snapshot.Segment
	readers  []*inverted.Reader
	found    [][]*inverted.Matches // by segment and partition
}

// An unreadIndex is the error of a text index.
type unreadIndex struct {
	name string
	err  error
}

func (e *unreadIndex) Error() string { return fmt.Sprintf("index %s: %v", e.name, e.err) }
func (e *unreadIndex) Unwrap() error { return e.err }

// openTextLists opens the indices on columns of a version.
func openTextLists(ctx context.Context, d *dataset.Dataset, columns []string, indices map[string]*snapshot.Index, elements bool) (*textLists, error) {
	l := &textLists{dataset: d}
	for _, name := range columns {
		column := &listColumn{elements: elements}
		if x := indices[name]; coversAny(d, x) {
			column.index = x
		}
		l.columns = append(l.columns, column)
	}
	return l, l.each(ctx, func(ctx context.Context, i int) error { return l.columns[i].open(ctx, d) })
}

// each calls f for all columns with an index, side by side.
func (l *textLists) each(ctx context.Context, f func(ctx context.Context, column int) error) error {
	return lance.Each(ctx, len(l.columns), len(l.columns), func(ctx context.Context, i int) (err error) {
		defer contain(&err)
		if l.columns[i].index == nil {
			return nil
		}
		if err := f(ctx, i); err != nil {
			return &unreadIndex{l.columns[i].index.Name, err}
		}
		return nil
	})
}

// use prepares for a search of columns that are among the opened ones.
func (l *textLists) use(search *fulltext.Search, opened []string) {
	l.search = search
	columns := make([]*listColumn, len(search.Columns()))
	for i, name := range search.Columns() {
		columns[i] = l.columns[slices.Index(opened, name)]
	}
	l.columns = columns
}

// open opens the segments of the index.
func (c *listColumn) open(ctx context.Context, d *dataset.Dataset) (err error) {
	if c.segments, err = d.Segments(c.index.Name); err != nil {
		return err
	}
	for _, f := range d.Manifest().Fragments {
		covering := 0
		for _, s := range c.segments {
			if s.Covers(f.ID) {
				covering++
			}
		}
		if covering > 1 {
			return fmt.Errorf("%w: %d segments have rows of fragment %d", lance.ErrCorrupt, covering, f.ID)
		}
	}
	c.readers, c.found = make([]*inverted.Reader, len(c.segments)), make([][]*inverted.Matches, len(c.segments))
	return c.each(ctx, func(ctx context.Context, i int) (err error) {
		c.readers[i], err = inverted.Open(ctx, c.segments[i], c.elements)
		return err
	})
}

// maxSegmentReads bounds how many segments of an index are read side by side.
const maxSegmentReads = 16

// each calls f for all segments, some side by side.
func (c *listColumn) each(ctx context.Context, f func(ctx context.Context, i int) error) error {
	return lance.Each(ctx, len(c.segments), maxSegmentReads, func(ctx context.Context, i int) (err error) {
		defer contain(&err)
		if err := f(ctx, i); err != nil {
			return fmt.Errorf("segment %s: %w", c.segments[i].UUID, err)
		}
		return nil
	})
}

// contain turns a panic in a goroutine, which nothing else could catch, into an error.
func contain(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: panic while reading an index: %v", lance.ErrCorrupt, r)
	}
}

// covers reports whether rows of a fragment are found by posting lists.
func (l *textLists) covers(fragment uint64) bool {
	return !slices.ContainsFunc(l.columns, func(c *listColumn) bool { return c.index == nil || !c.index.Covers(fragment) })
}

// whole reports whether each column has an index; else no fragment is covered.
func (l *textLists) whole() bool {
	return !slices.ContainsFunc(l.columns, func(c *listColumn) bool { return c.index == nil })
}

// expand finds the terms in the indices that are similar to those of the query, if the query is
// fuzzy.
func (l *textLists) expand(ctx context.Context) error {
	if !l.search.Fuzzy() {
		return nil
	}
	v := l.search.NewVocabulary()
	room := memory.Hold{}
	defer func() { room.Release() }()
	for i := range l.columns {
		c := l.columns[i]
		for _, r := range c.readers {
			err := r.Terms(ctx, func(term []byte) error {
				v.AddTerm(i, string(term))
				return room.Resize(ctx, v.Bytes())
			})
			if err != nil {
				return &unreadIndex{c.index.Name, err}
			}
		}
	}
	return l.search.Expand(v)
}

// find reads the posting lists of the search's terms, and what the indices have counted.
func (l *textLists) find(ctx context.Context) error {
	err := l.each(ctx, func(ctx context.Context, i int) error {
		c := l.columns[i]
		return c.each(ctx, func(ctx context.Context, segment int) (err error) {
			c.found[segment], err = c.readers[segment].Find(ctx, l.search.Terms(i), l.search.NeedsPositions(i))
			return err
		})
	})
	if err != nil {
		return err
	}
	for i, c := range l.columns {
		if c.index != nil {
			l.know(i)
		}
	}
	return nil
}

// know tells the search what the index on a column has counted.
func (l *textLists) know(column int) {
	documents, length := int64(0), int64(0)
	holding := make([]int64, len(l.search.Terms(column)))
	for i, r := range l.columns[column].readers {
		count, terms := r.Documents()
		documents, length = documents+count, length+terms
		for _, m := range l.columns[column].found[i] {
			l.partitions++
			l.blocks += m.Blocks
			for t, n := range m.Holding {
				holding[t] += n
			}
		}
	}
	l.search.Know(column, documents, length, holding)
}

// score adds the scores of the rows to top, of those among which the search looks.
func (l *textLists) score(ctx context.Context, among asked, scorer *fulltext.Scorer, top *vector.TopK) error {
	if !l.whole() {
		return nil
	}
	var allowed func(uint64) bool
	if among.filter.Where != nil {
		set, err := l.allowedRows(ctx, among)
		if err != nil {
			return err
		}
		allowed = set.Contains
	}
	if len(l.columns) == 1 {
		if most, ok := scorer.Limit(0); ok {
			l.bound = &inverted.Bound{
				Weights: most.Weights, AverageLength: most.AverageLength, Required: most.Required, Least: func() float32 { return -top.Limit() },
			}
		}
	}
	return l.documents(ctx, allowed, func(at place, counts []uint32) error {
		l.scored++
		if score, ok := scorer.Score(counts); ok {
			top.AddPart(-score, at.address, at.element)
		}
		return nil
	})
}

// A place is that of a document: a row, and an element of its list if documents are elements.
type place struct {
	address uint64
	element uint32
}

// A sink takes the counts of documents, which are good until it returns.
type sink func(at place, counts []uint32) error

// documents calls sink with the counts of each document that an index has, whose row is not deleted and is
// allowed, and that the bound does not leave out, in the fragments that all indices cover.
func (l *textLists) documents(ctx context.Context, allowed func(address uint64) bool, sink sink) error {
	if len(l.columns) == 1 {
		return l.ofColumn(ctx, 0, allowed, sink)
	}
	j := &joinedCounts{search: l.search, at: map[place]int{}}
	defer j.room.Release()
	for i := range l.columns {
		if err := l.ofColumn(ctx, i, allowed, func(at place, counts []uint32) error { return j.add(ctx, at, counts) }); err != nil {
			return err
		}
	}
	if l.search.NeedsLengths() {
		for i := range l.columns {
			if err := l.lengths(ctx, i, j); err != nil {
				return err
			}
		}
	}
	for at, i := range j.at {
		if err := sink(at, j.row(i)); err != nil {
			return err
		}
	}
	return nil
}

// ofColumn calls sink with the counts of each document of one column.
func (l *textLists) ofColumn(ctx context.Context, column int, allowed func(address uint64) bool, sink sink) error {
	c := l.columns[column]
	for i, partitions := range c.found {
		for _, m := range partitions {
			p := &placing{lists: l, segment: c.segments[i], allowed: allowed, sink: sink, step: firstPlaced}
			enter := func(d *inverted.Document) error {
				l.search.Enter(p.next(d.Row, d.Element), column, fulltext.Entry{Length: d.Length, Frequencies: d.Frequencies, Positions: d.Positions})
				return p.full(ctx)
			}
			var err error
			if l.bound != nil {
				err = m.EachAbove(ctx, *l.bound, enter)
			} else {
				err = m.Each(ctx, enter)
			}
			if err == nil {
				err = p.flush(ctx)
			}
			if err != nil {
				return &unreadIndex{c.index.Name, fmt.Errorf("segment %s: %w", c.segments[i].UUID, err)}
			}
		}
	}
	return nil
}

// Documents are placed together: so many at first and at most. The first ones are few, since a search leaves out
// most documents as soon as it knows the scores of as many as it wants.
const (
	firstPlaced = 16
	mostPlaced  = 128
)

// placing finds where the rows of the documents of a partition are, a number of them at a time.
type placing struct {
	lists   *textLists
	segment *snapshot.Segment
	allowed func(address uint64) bool
	sink    sink

	step     int // how many documents are placed together
	ids      []uint64
	elements []uint32
	counts   []uint32
}

// next returns the counts of one more document, all zero.
func (p *placing) next(id uint64, element uint32) []uint32 {
	words := p.lists.search.RowWords()
	p.ids, p.elements = append(p.ids, id), append(p.elements, element)
	n := len(p.counts)
	p.counts = slices.Grow(p.counts, words)[:n+words]
	clear(p.counts[n:])
	return p.counts[n:]
}

// full places the documents if there are enough of them.
func (p *placing) full(ctx context.Context) error {
	if len(p.ids) < p.step {
		return nil
	}
	p.step = min(2*p.step, mostPlaced)
	return p.flush(ctx)
}

func (p *placing) flush(ctx context.Context) error {
	if err := p.lists.dataset.Places(ctx, p.segment, p.ids); err != nil {
		return err
	}
	words := p.lists.search.RowWords()
	for i, address := range p.ids {
		if address == snapshot.NoAddress || !p.lists.covers(address>>32) || p.allowed != nil && !p.allowed(address) {
			continue
		}
		if err := p.sink(place{address, p.elements[i]}, p.counts[i*words:(i+1)*words]); err != nil {
			return err
		}
	}
	p.ids, p.elements, p.counts = p.ids[:0], p.elements[:0], p.counts[:0]
	return nil
}

// joinedCounts joins the counts of documents in several columns.
type joinedCounts struct {
	search *fulltext.Search
	at     map[place]int // number of the row of counts
	counts []uint32
	room   memory.Hold
}

// joinedBytes is about what a document takes beside its counts.
const joinedBytes = 56

func (j *joinedCounts) row(i int) []uint32 {
	words := j.search.RowWords()
	return j.counts[i*words : (i+1)*words]
}

// add adds the counts of a document in one column to its counts in others.
func (j *joinedCounts) add(ctx context.Context, at place, counts []uint32) error {
	i, ok := j.at[at]
	if !ok {
		i = len(j.at)
		if need := int64(i+1) * (joinedBytes + 8*int64(len(counts))); need > j.room.Bytes() {
			if err := j.room.Resize(ctx, 2*need); err != nil {
				return err
			}
		}
		j.at[at] = i
		j.counts = append(j.counts, counts...)
		return nil
	}
	row := j.row(i)
	for w, n := range counts {
		row[w] |= n // another column has other words
	}
	return nil
}

// lengths adds the lengths of the documents of a column to rows that hold no term there.
func (l *textLists) lengths(ctx context.Context, column int, j *joinedCounts) error {
	c := l.columns[column]
	empty := make([]uint32, len(l.search.Terms(column)))
	for i, r := range c.readers {
		err := r.Lengths(ctx, func(ids []uint64, lengths []uint32) error {
			if err := l.dataset.Places(ctx, c.segments[i], ids); err != nil {
				return err
			}
			for n, address := range ids {
				if at, ok := j.at[place{address: address}]; ok && !l.search.Entered(j.row(at), column) {
					l.search.Enter(j.row(at), column, fulltext.Entry{Length: lengths[n], Frequencies: empty})
				}
			}
			return nil
		})
		if err != nil {
			return &unreadIndex{c.index.Name, err}
		}
	}
	return nil
}

// allowedRows returns the rows that pass a filter, of the fragments that the indices cover. Their
// memory stays in the share of the context.
func (l *textLists) allowedRows(ctx context.Context, among asked) (*rowset.Set, error) {
	opts := among.options([]string{snapshot.RowAddr})
	opts.Only = inBoth(l.covers, among.only)
	_, batches, err := l.dataset.Scan(ctx, opts)
	if err != nil {
		return nil, err
	}
	set, room := &rowset.Set{}, memory.Hold{}
	for batch, err := range batches {
		if err != nil {
			return nil, err
		}
		set.Add(addressesOf(batch))
		if err := room.Resize(ctx, set.Bytes()); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// addressesOf returns the addresses of a batch that has them alone.
func addressesOf(batch arrow.RecordBatch) []uint64 {
	return batch.Column(0).(*array.Uint64).Uint64Values()
}
