package fulltext

import "slices"

// combinedLeaf finds terms in several columns that are scored as one text (BM25F). It adds up the
// frequencies and lengths of the columns, each multiplied by the weight of its column.
type combinedLeaf struct {
	columns []*column
	weights []float32
	terms   [][]use // by column; the same terms in the same order
	all     bool
	number  int // among the combined leaves of the search
}

// combinedWeights holds the BM25F statistics of a combined leaf.
type combinedWeights struct {
	averageLength float32
	idf           []float32 // by term of the leaf
}

// prepare resolves the columns and assigns each a counter per term. A missing list of weights means weight
// 1 for each column.
func (q *CombinedFields) prepare(s *Search) (node, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	leaf := &combinedLeaf{weights: q.Weights, all: q.All, number: s.combinedLeaves}
	s.combinedLeaves++
	if leaf.weights == nil {
		leaf.weights = make([]float32, len(q.Columns))
		for i := range leaf.weights {
			leaf.weights[i] = 1
		}
	}
	analyzer, err := leaf.resolve(s, q.Columns)
	if err != nil {
		return nil, err
	}
	terms, err := analyzer.Query(q.Terms)
	if err != nil {
		return nil, invalid("combined_fields: %v", err)
	}
	for i := range terms {
		terms[i].Position = 0 // so that each term is there once
	}
	for _, c := range leaf.columns {
		uses, err := s.slots(c, terms)
		if err != nil {
			return nil, err
		}
		leaf.terms = append(leaf.terms, once(uses))
	}
	return leaf, nil
}

func (q *CombinedFields) check() error {
	if len(q.Columns) == 0 {
		return invalid("a combined_fields query needs a column")
	}
	if q.Weights != nil && len(q.Weights) != len(q.Columns) {
		return invalid("a combined_fields query has %d boosts for %d columns", len(q.Weights), len(q.Columns))
	}
	for i, w := range q.Weights {
		if !(w >= 1 && w <= maxWeight) {
			return invalid("boost of column %s is %v; in combined_fields it has to be from 1 to %d", q.Columns[i], w, maxWeight)
		}
	}
	return nil
}

// resolve finds the columns, and the analyzer that all their indices have in common. Columns without an
// index use the same analyzer.
func (l *combinedLeaf) resolve(s *Search, names []string) (*Analyzer, error) {
	var shared *Analyzer
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, invalid("combined_fields names column %s twice", name)
		}
		f, err := s.fieldOf(name)
		if err != nil {
			return nil, err
		}
		switch {
		case f.Analyzer.params.BaseTokenizer == "": // no index
		case shared == nil:
			shared = f.Analyzer
		case !shared.params.SameTerms(&f.Analyzer.params):
			return nil, invalid("the indices on the columns of combined_fields have different tokenizer parameters; create them with the same")
		}
	}
	if shared == nil {
		return nil, invalid("combined_fields needs a text index on one of the columns")
	}
	for _, name := range names {
		f, err := s.fieldOf(name)
		if err != nil {
			return nil, err
		}
		l.columns = append(l.columns, s.columnWith(name, f, shared))
	}
	return shared, nil
}

// weigh computes the BM25F statistics over all columns. The number of documents, and the document frequency
// of a term, are the maximum over the columns, because the columns of a row are one document. Lengths are
// summed with the weights of the columns.
func (l *combinedLeaf) weigh(s *Scorer, total *Tally) {
	var w combinedWeights
	documents, length := int64(0), float64(0)
	holding := make([]int64, len(l.terms[0]))
	for i, c := range l.columns {
		var sum corpus
		sum.holding = make([]int64, len(c.terms))
		sum.merge(s.search.covered(c.number, total))
		sum.merge(&total.columns[c.number].others)
		documents = max(documents, sum.documents)
		length += float64(l.weights[i]) * float64(sum.length)
		for t, u := range l.terms[i] {
			holding[t] = max(holding[t], sum.holding[u.slot])
		}
	}
	w.averageLength = float32(length / float64(documents))
	for _, n := range holding {
		w.idf = append(w.idf, idf(n, documents))
	}
	for len(s.fields) <= l.number {
		s.fields = append(s.fields, combinedWeights{})
	}
	s.fields[l.number] = w
}

// score returns the BM25F score of a row: frequencies and lengths are weighted sums over the columns.
func (l *combinedLeaf) score(s *Scorer, row []uint32) (float32, bool) {
	length := float32(0)
	frequencies := make([]float32, len(l.terms[0]))
	for i, c := range l.columns {
		d := s.search.document(row, c.number)
		length += l.weights[i] * float32(d.length)
		for t, u := range l.terms[i] {
			frequencies[t] += l.weights[i] * float32(d.terms[u.slot])
		}
	}
	w := &s.fields[l.number]
	score, found := float32(0), false
	for t, f := range frequencies {
		if f > 0 {
			score += w.idf[t] * saturation(f, length, w.averageLength)
			found = true
		} else if l.all {
			return 0, false
		}
	}
	return score, found
}
