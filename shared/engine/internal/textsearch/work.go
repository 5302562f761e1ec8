package textsearch

import (
	"context"
	"fmt"
	"slices"

	"tiltyard/shared/engine/scatter"
	"tiltyard/shared/index/inverted"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/process/memory"
)

// A search of the index on one column can be divided by partitions of the index. A document is in one partition, and its
// score depends on its own words and on the counts of the whole index, so each part finds the best documents of its
// partitions if it is told these counts. Scores that depend on more are not divided: of several columns, of columns as one
// text, and of list elements.

// Elsewhere is a search of an index in other instances.
type Elsewhere struct {
	// Above is the size of what the search reads, decoded, above which Search is called.
	Above int64
	// Search finds the best documents of the index, with their scores as distances. Among are the rows to search; nil: all
	// rows. If done is false, the search reads the posting lists itself.
	Search func(ctx context.Context, w *Work, among *rowset.Set) (hits []vector.Hit, done bool, err error)
}

// A Part is a search of some of the partitions of an index.
type Part struct {
	Segments []Partitions
	Counts   Counts
	Among    *rowset.Set // the rows to search; nil: all rows
}

// Partitions are some of the partitions of a segment.
type Partitions struct {
	Segment string `json:"segment"` // UUID
	Places  []int  `json:"places"`  // among all partitions of the segment, ascending
}

// Counts are what the scores of a search depend on besides the documents themselves.
type Counts struct {
	Documents int64    `json:"documents"` // of the index
	Length    int64    `json:"length"`    // of all documents together, in terms
	Terms     []string `json:"terms"`     // of the search, those that a fuzzy query was expanded to among them
	Holding   []int64  `json:"holding"`   // the document frequency of each of the terms
}

// Check refuses counts that no index has.
func (c *Counts) Check() error {
	if c.Documents < 1 || c.Length < 1 || len(c.Terms) == 0 || len(c.Holding) != len(c.Terms) {
		return fmt.Errorf("counts of %d documents of the length %d, and of %d terms of %d", c.Documents, c.Length, len(c.Holding), len(c.Terms))
	}
	for _, n := range c.Holding {
		if n < 0 || n > c.Documents {
			return fmt.Errorf("a term in %d of %d documents", n, c.Documents)
		}
	}
	return nil
}

// Check refuses partitions that no search names: none, or one twice.
func (p *Partitions) Check() error {
	if p.Segment == "" || len(p.Places) == 0 || p.Places[0] < 0 {
		return fmt.Errorf("no partitions of segment %.100q", p.Segment)
	}
	for i := 1; i < len(p.Places); i++ {
		if p.Places[i] <= p.Places[i-1] {
			return fmt.Errorf("partition %d of segment %.100q after %d", p.Places[i], p.Segment, p.Places[i-1])
		}
	}
	return nil
}

// Work is a search of all partitions of an index.
type Work struct {
	Counts Counts
	pieces []piece // in the order of the segments, and then of the partitions in them
}

// A piece is a partition that has some of the terms.
type piece struct {
	segment string
	place   int
	bytes   int64 // that a search may read of it
}

// Bytes returns the size of what the search may read, decoded.
func (w *Work) Bytes() int64 {
	n := int64(0)
	for _, p := range w.pieces {
		n += p.bytes
	}
	return n
}

// Partitions returns how many partitions have some of the terms.
func (w *Work) Partitions() int { return len(w.pieces) }

// Cut divides the work into at most n parts of about the same size. A partition is in one part.
func (w *Work) Cut(n int64) [][]Partitions {
	sizes := make([]int64, len(w.pieces))
	for i, p := range w.pieces {
		sizes[i] = p.bytes
	}
	var parts [][]Partitions
	from := 0
	for _, end := range scatter.Cut(sizes, n) {
		var part []Partitions
		for _, p := range w.pieces[from:end] {
			if len(part) == 0 || part[len(part)-1].Segment != p.segment {
				part = append(part, Partitions{Segment: p.segment})
			}
			last := &part[len(part)-1]
			last.Places = append(last.Places, p.place)
		}
		parts, from = append(parts, part), end
	}
	return parts
}

// divisible reports whether the partitions of the index can be searched apart.
func (l *lists) divisible() bool {
	return len(l.columns) == 1 && l.columns[0].index != nil && !l.columns[0].elements && !l.search.NeedsLengths()
}

// countBytes is the memory of the document frequency of a term in a partition.
const countBytes = 8

// work returns the search as work for parts, or nil if it reads at most so many bytes. To find out, it reads how long the
// posting lists are, unless one of all documents were that small.
func (l *lists) work(ctx context.Context, above int64) (*Work, error) {
	if !l.divisible() {
		return nil, nil //nolint:nilnil // not divided
	}
	c, w, partitions := l.columns[0], &Work{Counts: Counts{Terms: l.search.Terms(0)}}, 0
	for _, r := range c.readers {
		documents, length := r.Documents()
		w.Counts.Documents, w.Counts.Length = w.Counts.Documents+documents, w.Counts.Length+length
		partitions += r.Partitions()
	}
	if partitions < 2 || w.Counts.Documents*inverted.PostingBytes <= above {
		return nil, nil //nolint:nilnil // not divided
	}
	if err := memory.FromContext(ctx).Take(ctx, countBytes*int64(partitions+1)*int64(len(w.Counts.Terms))); err != nil {
		return nil, err
	}
	found := make([][][]int64, len(c.segments)) // by segment, partition and term
	err := l.each(ctx, func(ctx context.Context, _ int) error {
		return c.each(ctx, func(ctx context.Context, segment int) (err error) {
			found[segment], err = c.readers[segment].Frequencies(ctx, w.Counts.Terms)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	w.Counts.Holding = make([]int64, len(w.Counts.Terms))
	for i, r := range c.readers {
		for place, bytes := range r.SearchBytes(found[i], l.search.NeedsPositions(0)) {
			for term, n := range found[i][place] {
				w.Counts.Holding[term] += n
			}
			if bytes > 0 {
				w.pieces = append(w.pieces, piece{c.segments[i].UUID, place, bytes})
			}
		}
	}
	if w.Bytes() <= above || len(w.pieces) < 2 {
		return nil, nil //nolint:nilnil // not divided
	}
	return w, nil
}

// restrict makes the segments those of some partitions, in their order.
func (c *listColumn) restrict(only []Partitions) error {
	var segments []*snapshot.Segment
	for _, o := range only {
		i := slices.IndexFunc(c.segments, func(s *snapshot.Segment) bool { return s.UUID == o.Segment })
		if i < 0 || slices.Contains(segments, c.segments[i]) {
			return fmt.Errorf("%w: segment %.100q is not one of the index, or comes twice", lance.ErrUnsupported, o.Segment)
		}
		segments = append(segments, c.segments[i])
	}
	c.segments = segments
	return nil
}

// knowCounts passes counts of the index, which others have read, to the search.
func (l *lists) knowCounts(c *Counts) {
	l.search.Know(0, c.Documents, c.Length, c.Holding)
}

// A part that reads other indices than the search, or expands words otherwise, does not search.
var (
	errIndivisible = fmt.Errorf("%w: a part of a search that cannot be divided", lance.ErrUnsupported)
	errOtherTerms  = fmt.Errorf("%w: a part with other terms than its search", lance.ErrUnsupported)
)

// expandAs expands fuzzy words to those terms of the counts that the index has. They are all terms that the search needs:
// for each word the first of the similar terms of the index, so that further ones among them are beyond its limit.
func (s *Search) expandAs(c *Counts) error {
	if s.search.Fuzzy() {
		v := s.search.NewVocabulary()
		for i, term := range c.Terms {
			if c.Holding[i] > 0 {
				v.AddTerm(0, term)
			}
		}
		if err := s.search.Expand(v); err != nil {
			return err
		}
	}
	if !slices.Equal(s.search.Terms(0), c.Terms) {
		return errOtherTerms
	}
	return nil
}

// bestOfPart returns the k best documents of the partitions of the part, best first, with their scores as distances.
func (s *Search) bestOfPart(ctx context.Context, k int64) ([]vector.Hit, error) {
	counts := &s.part.Counts
	if !s.lists.divisible() {
		return nil, errIndivisible
	}
	if err := s.expandAs(counts); err != nil {
		return nil, err
	}
	if err := s.lists.read(ctx); err != nil {
		return nil, err
	}
	s.lists.knowCounts(counts)
	top, room, err := s.newTop(ctx, k)
	if err != nil {
		return nil, err
	}
	defer room.Release()
	none := s.search.NewTally()
	defer none.Done()
	if err := s.lists.score(ctx, s.part.Among, s.search.Scorer(none), top); err != nil {
		return nil, err
	}
	return hitsOf(top), nil
}
