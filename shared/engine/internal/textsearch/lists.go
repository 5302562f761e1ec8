package textsearch

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/engine/internal/condition"
	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/index/inverted"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/process/memory"
)

// lists searches by the text indices on the columns of a search, at least one of which has an
// index. In fragments covered by indices on all columns, it finds rows by posting lists and reads
// no texts. In other fragments the search reads texts, but still takes document counts from the
// indices. An index counts deleted rows until it is rebuilt, except rows that were deleted before
// it was built.
type lists struct {
	dataset *dataset.Dataset
	search  *fulltext.Search
	columns []*listColumn // by column of the search
	// bound lets the indices skip documents whose score cannot be high enough. It is nil if the terms
	// do not determine it.
	bound *inverted.Bound
	// worth reports by the counts of a document whether it can be among the best. It is nil if a document has further
	// counts, of other columns.
	worth func(counts []uint32) bool

	// Statistics for the plan: partitions, blocks of posting lists, and scored rows.
	partitions, blocks, scored int
}

// A listColumn is the text index on a column.
type listColumn struct {
	index    *snapshot.Index // nil: no fragment is covered
	elements bool            // documents are list elements
	distinct bool            // no row can have several documents
	segments []*snapshot.Segment
	readers  []*inverted.Reader
	found    [][]*inverted.Matches // by segment and partition
}

// An UnreadIndex is an error in reading a text index. The search then continues without indices.
type UnreadIndex struct {
	Name string
	err  error
}

func (e *UnreadIndex) Error() string { return fmt.Sprintf("index %s: %v", e.Name, e.err) }
func (e *UnreadIndex) Unwrap() error { return e.err }

// openLists opens the indices on columns of a version, or what a part searches of them.
func openLists(ctx context.Context, d *dataset.Dataset, columns []string, indices map[string]*snapshot.Index, o Options) (*lists, error) {
	l := &lists{dataset: d}
	for _, name := range columns {
		column := &listColumn{elements: o.Elements, distinct: isDistinct(d, name)}
		if x := indices[name]; coversAny(d, x) {
			column.index = x
		}
		l.columns = append(l.columns, column)
	}
	return l, l.each(ctx, func(ctx context.Context, i int) error { return l.columns[i].open(ctx, d, o.Part) })
}

// isDistinct reports whether no row can have several documents in an index on a column. With stable row ids a row can
// have an outdated one, and early indices on lists have one for each element.
func isDistinct(d *dataset.Dataset, column string) bool {
	field := d.Schema().Column(column)
	return !d.Manifest().StableRowIDs() && field != nil && arrow.IsBinaryLike(field.Arrow().Type.ID())
}

// each calls f in parallel for all columns with an index.
func (l *lists) each(ctx context.Context, f func(ctx context.Context, column int) error) error {
	return lance.Each(ctx, len(l.columns), len(l.columns), func(ctx context.Context, i int) (err error) {
		defer contain(&err)
		if l.columns[i].index == nil {
			return nil
		}
		if err := f(ctx, i); err != nil {
			return &UnreadIndex{l.columns[i].index.Name, err}
		}
		return nil
	})
}

// use sets the search, which searches some of the opened columns.
func (l *lists) use(search *fulltext.Search, opened []string) {
	l.search = search
	columns := make([]*listColumn, len(search.Columns()))
	for i, name := range search.Columns() {
		columns[i] = l.columns[slices.Index(opened, name)]
	}
	l.columns = columns
}

// open opens the segments of the index, or the partitions that a part searches.
func (c *listColumn) open(ctx context.Context, d *dataset.Dataset, part *Part) (err error) {
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
	if part != nil {
		if err := c.restrict(part.Segments); err != nil {
			return err
		}
	}
	c.readers, c.found = make([]*inverted.Reader, len(c.segments)), make([][]*inverted.Matches, len(c.segments))
	return c.each(ctx, func(ctx context.Context, i int) (err error) {
		expected := inverted.Expected{Elements: c.elements, Distinct: c.distinct}
		if part == nil {
			c.readers[i], err = inverted.Open(ctx, c.segments[i], expected)
		} else {
			c.readers[i], err = inverted.OpenPartitions(ctx, c.segments[i], expected, part.Segments[i].Places)
		}
		return err
	})
}

// maxSegmentReads bounds the number of segments of an index that are read in parallel.
const maxSegmentReads = 16

// each calls f in parallel for all segments.
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

// covers reports whether the search finds the rows of a fragment by posting lists.
func (l *lists) covers(fragment uint64) bool {
	return !slices.ContainsFunc(l.columns, func(c *listColumn) bool { return c.index == nil || !c.index.Covers(fragment) })
}

// whole reports whether each column has an index. Otherwise no fragment is covered.
func (l *lists) whole() bool {
	return !slices.ContainsFunc(l.columns, func(c *listColumn) bool { return c.index == nil })
}

// expand finds the indexed terms that are similar to the terms of a fuzzy query.
func (l *lists) expand(ctx context.Context) error {
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
				return &UnreadIndex{c.index.Name, err}
			}
		}
	}
	return l.search.Expand(v)
}

// find reads the posting lists of the search's terms, and the document counts of the indices.
func (l *lists) find(ctx context.Context) error {
	if err := l.read(ctx); err != nil {
		return err
	}
	for i, c := range l.columns {
		if c.index != nil {
			l.know(i)
		}
	}
	return nil
}

// read reads the posting lists of the search's terms.
func (l *lists) read(ctx context.Context) error {
	return l.each(ctx, func(ctx context.Context, i int) error {
		c := l.columns[i]
		return c.each(ctx, func(ctx context.Context, segment int) (err error) {
			c.found[segment], err = c.readers[segment].Find(ctx, l.search.Terms(i), l.search.NeedsPositions(i))
			return err
		})
	})
}

// know passes the document counts of the index on a column to the search.
func (l *lists) know(column int) {
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

// score adds the scores of the indexed rows in among to top; nil are all of them. All columns have indices.
func (l *lists) score(ctx context.Context, among *rowset.Set, scorer *fulltext.Scorer, top *vector.TopK) error {
	var allowed func(uint64) bool
	if among != nil {
		allowed = among.Contains
	}
	// With several columns a document's score is known only after all of them were read.
	if len(l.columns) == 1 {
		if most, ok := scorer.Limit(0); ok {
			l.bound = &inverted.Bound{
				Weights: most.Weights, AverageLength: most.AverageLength, Required: most.Required, Least: func() float32 { return -top.Limit() },
			}
		}
		l.worth = func(counts []uint32) bool {
			score, ok := scorer.Score(counts)
			return ok && -score <= top.Limit()
		}
	}
	if allowed == nil {
		if done, err := l.scoreByList(ctx, scorer, top); done || err != nil {
			return err
		}
		l.scored = 0
	}
	return l.documents(ctx, allowed, func(at place, counts []uint32) error {
		l.scored++
		if score, ok := scorer.Score(counts); ok {
			top.AddPart(-score, at.address, at.element)
		}
		return nil
	})
}

// A place identifies a document: a row, and its list element if documents are elements.
type place struct {
	address uint64
	element uint32
}

// A sink receives the word counts of a document. They are valid until it returns.
type sink func(at place, counts []uint32) error

// documents calls sink with the counts of each indexed document in fragments that all indices
// cover. It skips deleted rows, rows that are not allowed, and documents that the bound excludes.
func (l *lists) documents(ctx context.Context, allowed func(address uint64) bool, sink sink) error {
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
	// Some scores depend on the length of a document in columns without a match.
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
func (l *lists) ofColumn(ctx context.Context, column int, allowed func(address uint64) bool, sink sink) error {
	c := l.columns[column]
	for i, partitions := range c.found {
		for _, m := range partitions {
			p := &placing{lists: l, segment: c.segments[i], matches: m, allowed: allowed, sink: sink, step: firstPlaced}
			enter := func(d *inverted.Document) error {
				counts := p.next(d.Number)
				l.search.Enter(counts, column, fulltext.Entry{Length: d.Length, Frequencies: d.Frequencies, Positions: d.Positions})
				if l.worth != nil && m.IsPaged() && !l.worth(counts) {
					p.drop()
				}
				return p.full(ctx)
			}
			var err error
			// With a bound, blocks of documents that cannot be good enough are skipped unread.
			if l.bound != nil {
				err = m.EachAbove(ctx, *l.bound, enter)
			} else {
				err = m.Each(ctx, enter)
			}
			if err == nil {
				err = p.flush(ctx)
			}
			if err != nil {
				return c.unread(c.segments[i], err)
			}
		}
	}
	return nil
}

// unread returns the error of reading a segment.
func (c *listColumn) unread(segment *snapshot.Segment, err error) error {
	return &UnreadIndex{c.index.Name, fmt.Errorf("segment %s: %w", segment.UUID, err)}
}

// The addresses of documents are looked up together, in groups that grow from firstPlaced to mostPlaced. The first groups
// are small, because a search can skip most documents once it has found enough good ones.
const (
	firstPlaced = 16
	mostPlaced  = 128
	// mostPagedPlaced is mostPlaced if a lookup of a group also reads pages of the index.
	mostPagedPlaced = inverted.MostLocated
)

// placing looks up the row addresses of the documents in a partition, in groups.
type placing struct {
	lists   *lists
	segment *snapshot.Segment
	matches *inverted.Matches
	allowed func(address uint64) bool
	sink    sink

	step     int // size of the next group
	numbers  []int64
	ids      []uint64
	elements []uint32
	counts   []uint32
}

// next returns the zeroed counts of one more document.
func (p *placing) next(number int64) []uint32 {
	words := p.lists.search.RowWords()
	p.numbers = append(p.numbers, number)
	n := len(p.counts)
	p.counts = slices.Grow(p.counts, words)[:n+words]
	clear(p.counts[n:])
	return p.counts[n:]
}

// drop drops the last document.
func (p *placing) drop() {
	p.numbers, p.counts = p.numbers[:len(p.numbers)-1], p.counts[:len(p.counts)-p.lists.search.RowWords()]
}

// full looks up the addresses of the group if it is complete.
func (p *placing) full(ctx context.Context) error {
	if len(p.numbers) < p.step {
		return nil
	}
	most := mostPlaced
	if p.matches.IsPaged() {
		most = mostPagedPlaced
	}
	p.step = min(2*p.step, most)
	return p.flush(ctx)
}

// flush looks up the addresses of the group and calls sink with the remaining documents.
func (p *placing) flush(ctx context.Context) error {
	n := len(p.numbers)
	p.ids, p.elements = slices.Grow(p.ids[:0], n)[:n], slices.Grow(p.elements[:0], n)[:n]
	if err := p.matches.Locate(ctx, p.numbers, p.ids, p.elements); err != nil {
		return err
	}
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
	p.numbers, p.counts = p.numbers[:0], p.counts[:0]
	return nil
}

// allowedRows returns the rows that pass a filter in the fragments that the indices cover. Their
// memory is charged to the context.
func (l *lists) allowedRows(ctx context.Context, among condition.Rows) (*rowset.Set, error) {
	opts := among.Options([]string{snapshot.RowAddr})
	opts.Only = condition.InBoth(l.covers, among.Only)
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

// addressesOf returns the addresses in a batch with that column only.
func addressesOf(batch arrow.RecordBatch) []uint64 {
	return batch.Column(0).(*array.Uint64).Uint64Values()
}
