package fulltext

import "slices"

// A Limit is an upper bound of the score of a covered row. For each term in the only column of the search,
// the bound is the weight of the term times the BM25 factor f/(f + norm), with k1 = 1.2 and b = 0.75 and
// without k1 + 1. The score is less if the query is not a plain sum.
type Limit struct {
	Weights       []float32 // by term of the column
	AverageLength float32
	// Required are sets of terms by their numbers. The query finds only rows that have a term of each set.
	Required [][]int
}

// Limit returns an upper bound of the scores in a column, which must be the only column of the search. It
// returns false if the terms alone imply no bound.
func (s *Scorer) Limit(column int) (Limit, bool) {
	l, ok := s.search.root.limit(s, column)
	if leaf, isLeaf := s.search.root.(*matchLeaf); isLeaf && !leaf.all {
		l.Required = nil // a row without any term never matches anyway
	}
	for _, w := range l.Weights {
		ok = ok && w >= 0
	}
	return l, ok
}

// nothing returns a limit of 0, without required terms.
func (s *Scorer) nothing(column int) Limit {
	return Limit{Weights: make([]float32, len(s.search.columns[column].terms)), AverageLength: s.columns[column].covered.averageLength}
}

// add adds the weights of another limit.
func (l *Limit) add(o Limit) {
	for i, w := range o.Weights {
		l.Weights[i] += w
	}
}

// limit adds up the weights of the terms. With all, each position of the query requires one of its terms;
// otherwise at least one term of the query is required.
func (m *matchLeaf) limit(s *Scorer, column int) (Limit, bool) {
	l, idf := s.nothing(column), s.columns[column].covered.idf
	if m.column.number != column {
		return l, false
	}
	for _, u := range m.covered {
		l.Weights[u.slot] += idf[u.slot] * (k1 + 1) * m.boost
	}
	if m.impossible || len(m.covered) == 0 {
		l.Required = [][]int{nil}
		return l, true
	}
	for i, u := range m.covered {
		if i == 0 || m.all && u.position != m.covered[i-1].position {
			l.Required = append(l.Required, nil)
		}
		last := len(l.Required) - 1
		l.Required[last] = append(l.Required[last], u.slot)
	}
	return l, true
}

// limit takes the greatest weight of each term, because the score of a row is its greatest score in one
// column.
func (b bestOf) limit(s *Scorer, column int) (Limit, bool) {
	l := s.nothing(column)
	for _, n := range b {
		one, ok := n.limit(s, column)
		if !ok {
			return l, false
		}
		for i, w := range one.Weights {
			l.Weights[i] = max(l.Weights[i], w)
		}
		if len(b) == 1 {
			l.Required = one.Required
		}
	}
	return l, true
}

// The subtracted score must not be negative, as the score of a demoted node can be.
func (d *demoted) limit(s *Scorer, column int) (Limit, bool) {
	l, ok := d.positive.limit(s, column)
	return l, ok && !demotes(d.negative)
}

// demotes reports whether a node or one of its descendants is demoted.
func demotes(n node) bool {
	switch n := n.(type) {
	case *demoted:
		return true
	case bestOf:
		return slices.ContainsFunc(n, demotes)
	case *clauses:
		return slices.ContainsFunc(n.must, demotes) || slices.ContainsFunc(n.should, demotes)
	}
	return false
}

// limit adds up the limits of must and should. must_not only removes rows.
func (c *clauses) limit(s *Scorer, column int) (Limit, bool) {
	l := s.nothing(column)
	for _, n := range c.must {
		one, ok := n.limit(s, column)
		if !ok {
			return l, false
		}
		l.add(one)
		l.Required = append(l.Required, one.Required...)
	}
	for _, n := range c.should {
		one, ok := n.limit(s, column)
		if !ok {
			return l, false
		}
		l.add(one)
	}
	return l, true
}

// Several columns are scored as one document, so a single column has no limit.
func (l *combinedLeaf) limit(s *Scorer, column int) (Limit, bool) { return s.nothing(column), false }
