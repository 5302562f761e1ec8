package fulltext

import "slices"

// A Limit is the most that a row scores which an index covers. For each term of the document in the one column that
// is searched, it scores the weight of the term times what BM25 makes of frequency and length for k1 = 1.2 and b =
// 0.75, without the factor k1 + 1, and less if the query is no plain sum.
type Limit struct {
	Weights       []float32 // by term of the column
	AverageLength float32
	// Required are sets of terms by their numbers. The query finds only rows that have a term of each set.
	Required [][]int
}

// Limit returns the most that rows score in a column, which must be the only one of the search. It returns false if
// that is not known from the terms alone.
func (s *Scorer) Limit(column int) (Limit, bool) {
	l, ok := s.search.root.limit(s, column)
	if leaf, isLeaf := s.search.root.(*matchLeaf); isLeaf && !leaf.all {
		l.Required = nil // a row without any term is not looked at anyway
	}
	for _, w := range l.Weights {
		ok = ok && w >= 0
	}
	return l, ok
}

// nothing returns a limit of 0 for rows that need have no term.
func (s *Scorer) nothing(column int) Limit {
	return Limit{Weights: make([]float32, len(s.search.columns[column].terms)), AverageLength: s.columns[column].covered.averageLength}
}

// add adds the weights of another limit.
func (l *Limit) add(o Limit) {
	for i, w := range o.Weights {
		l.Weights[i] += w
	}
}

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

// What is subtracted must not be below 0, as the score of a demoted node can be.
func (d *demoted) limit(s *Scorer, column int) (Limit, bool) {
	l, ok := d.positive.limit(s, column)
	return l, ok && !demotes(d.negative)
}

// demotes reports whether a node or one below it is demoted.
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

// The documents of several columns count as one, so a column alone has no limit.
func (l *combinedLeaf) limit(s *Scorer, column int) (Limit, bool) { return s.nothing(column), false }
