package fulltext

import "math"

// The constants of BM25. k1 limits the effect of repeated terms, and b scales the effect of the document
// length.
const (
	k1 = 1.2
	b  = 0.75
)

// A Scorer scores rows by the statistics of a tally of all rows.
type Scorer struct {
	search  *Search
	columns []weights
	fields  []combinedWeights // by combined leaf
}

// weights are the statistics for the two kinds of documents of a column.
type weights struct{ covered, others model }

// A model is the statistics of BM25 for some corpus.
type model struct {
	averageLength float32
	idf           []float32 // by term
}

// newModel merges statistics of disjoint documents, and computes their average length and the inverse
// document frequencies.
func newModel(c ...*corpus) model {
	var sum corpus
	sum.holding = make([]int64, len(c[0].holding))
	for _, part := range c {
		sum.merge(part)
	}
	m := model{averageLength: float32(sum.length) / float32(sum.documents), idf: make([]float32, len(sum.holding))}
	for i, n := range sum.holding {
		m.idf[i] = idf(n, sum.documents)
	}
	return m
}

// idf returns the inverse document frequency of a term. holding is its document frequency.
func idf(holding, documents int64) float32 {
	n := float32(holding)
	return float32(math.Log(float64((float32(documents)-n+0.5)/(n+0.5) + 1)))
}

// Scorer returns the scorer for the statistics in total, which must have counted all rows.
func (s *Search) Scorer(total *Tally) *Scorer {
	scorer := &Scorer{search: s, columns: make([]weights, len(s.columns))}
	for i := range s.columns {
		covered := s.covered(i, total)
		all := newModel(covered, &total.columns[i].passed)
		scorer.columns[i] = weights{covered: newModel(covered), others: all}
		if s.elements { // if documents are list elements, native Lance scores covered ones with the statistics of all, too
			scorer.columns[i].covered = all
		}
	}
	s.root.weigh(scorer, total)
	return scorer
}

// Score returns the score of a row, and whether the query finds the row.
func (s *Scorer) Score(row []uint32) (score float32, found bool) {
	return s.search.root.score(s, row)
}

// saturation returns the contribution of a term that occurs frequency times in a document.
func saturation(frequency, length, averageLength float32) float32 {
	return frequency * (k1 + 1) / (frequency + k1*(1-b+b*length/averageLength))
}

// A node scores rows.
type node interface {
	score(s *Scorer, row []uint32) (float32, bool)
	// weigh computes the statistics on which the scores of the node depend.
	weigh(s *Scorer, total *Tally)
	// limit returns an upper bound of the scores of covered rows for the terms of a column, and false if
	// there is none.
	limit(s *Scorer, column int) (Limit, bool)
}

// A matchLeaf finds terms in a column.
type matchLeaf struct {
	column  *column
	covered []use // terms in documents that the index covers
	rest    []use // … and in all others
	all     bool
	boost   float32
	phrase  *phrase // nil: the terms may be anywhere
	// impossible means that the index has no match for a required term.
	impossible bool
}

func (m *matchLeaf) weigh(*Scorer, *Tally) {}

// score adds up the BM25 scores of the terms. Covered documents are scored with the statistics of the
// index, others with those of all documents.
func (m *matchLeaf) score(s *Scorer, row []uint32) (float32, bool) {
	d := s.search.document(row, m.column.number)
	uses, by := m.rest, &s.columns[m.column.number].others
	if d.covered {
		uses, by = m.covered, &s.columns[m.column.number].covered
		if m.impossible {
			return 0, false
		}
	}
	if m.phrase != nil && row[m.phrase.word] == 0 || m.all && !hasAll(uses, d.terms) {
		return 0, false
	}
	score, found := float32(0), false
	for _, u := range uses {
		if n := d.terms[u.slot]; n > 0 {
			score += by.idf[u.slot] * saturation(float32(n), float32(d.length), by.averageLength)
			found = true
		}
	}
	return score * m.boost, found
}

// hasAll reports whether the document contains at least one of the terms at each position of the query.
func hasAll(uses []use, terms []uint32) bool {
	for i := 0; i < len(uses); {
		position, has := uses[i].position, false
		for ; i < len(uses) && uses[i].position == position; i++ {
			has = has || terms[uses[i].slot] > 0
		}
		if !has {
			return false
		}
	}
	return true
}

// bestOf scores a row with the best score of several nodes.
type bestOf []node

func (b bestOf) weigh(s *Scorer, total *Tally) {
	for _, n := range b {
		n.weigh(s, total)
	}
}

// score returns the greatest score of all columns.
func (b bestOf) score(s *Scorer, row []uint32) (best float32, found bool) {
	for _, n := range b {
		if score, ok := n.score(s, row); ok {
			if !found || score > best {
				best = score
			}
			found = true
		}
	}
	return best, found
}

// demoted lowers the score of the positive node where the negative node matches.
type demoted struct {
	positive, negative node
	by                 float32
}

func (d *demoted) weigh(s *Scorer, total *Tally) {
	d.positive.weigh(s, total)
	d.negative.weigh(s, total)
}

// score subtracts a part of the negative score from the positive one.
func (d *demoted) score(s *Scorer, row []uint32) (float32, bool) {
	score, found := d.positive.score(s, row)
	if !found {
		return 0, false
	}
	if less, ok := d.negative.score(s, row); ok {
		score -= d.by * less
	}
	return score, true
}

// clauses is a boolean query.
type clauses struct{ must, should, mustNot []node }

func (c *clauses) weigh(s *Scorer, total *Tally) {
	for _, nodes := range [][]node{c.must, c.should, c.mustNot} {
		bestOf(nodes).weigh(s, total)
	}
}

// score adds up the scores of must and should. found is false if a must or all of should do not match, or
// if a must_not matches.
func (c *clauses) score(s *Scorer, row []uint32) (sum float32, found bool) {
	for _, n := range c.must {
		score, ok := n.score(s, row)
		if !ok {
			return 0, false
		}
		sum += score
	}
	found = len(c.must) > 0
	for _, n := range c.should {
		if score, ok := n.score(s, row); ok {
			sum += score
			found = true
		}
	}
	if !found {
		return 0, false
	}
	for _, n := range c.mustNot {
		if _, ok := n.score(s, row); ok {
			return 0, false
		}
	}
	return sum, true
}
