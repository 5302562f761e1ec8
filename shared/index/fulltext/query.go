package fulltext

import (
	"fmt"
	"math"
	"slices"
)

// A Query is a tree of [*Match], [*Phrase], [*MultiMatch], [*CombinedFields], [*Boost] and
// [*Boolean].
type Query interface {
	// prepare returns the node that scores rows, and registers with s the columns and terms
	// that it needs.
	prepare(s *Search) (node, error)
}

// Match finds the rows that contain some, or all, of the terms.
type Match struct {
	Column string
	Terms  string
	All    bool    // all terms must be there
	Boost  float32 // of the score, not negative

	// Fuzziness is the maximal edit distance, in characters, between a term of the query and a term of the
	// index. The first PrefixLength characters must be equal. At most MaxExpansions terms, in lexical
	// order, are used. Fuzziness has no effect on rows that no index covers.
	Fuzziness     int
	PrefixLength  int
	MaxExpansions int
}

// Phrase finds the rows that hold the terms in their order.
type Phrase struct {
	Column string
	Terms  string
	Slop   int // additional words allowed before each term
}

// MultiMatch finds the rows that any of the queries finds, with the best of their scores.
type MultiMatch struct{ Matches []*Match }

// CombinedFields finds the rows whose columns, taken as one text, contain the terms.
type CombinedFields struct {
	Columns []string
	Weights []float32 // weight of each column, at least 1; empty: all 1
	Terms   string
	All     bool
}

// Boost finds the rows of Positive. From their score it subtracts NegativeBoost times the
// score of Negative.
type Boost struct {
	Positive, Negative Query
	NegativeBoost      float32
}

// Boolean finds the rows that match all of Must and none of MustNot. Matches of Should add to the score;
// without Must, at least one of Should must match.
type Boolean struct{ Must, Should, MustNot []Query }

// Columns returns the names of the columns in a query, each once.
func Columns(q Query) []string {
	var names []string
	add := func(more ...string) {
		for _, name := range more {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	switch q := q.(type) {
	case *Match:
		add(q.Column)
	case *Phrase:
		add(q.Column)
	case *MultiMatch:
		for _, m := range q.Matches {
			add(m.Column)
		}
	case *CombinedFields:
		add(q.Columns...)
	case *Boost:
		add(Columns(q.Positive)...)
		add(Columns(q.Negative)...)
	case *Boolean:
		for _, clause := range slices.Concat(q.Must, q.Should, q.MustNot) {
			add(Columns(clause)...)
		}
	}
	return names
}

// An Error reports a query that is invalid or does not fit the table.
type Error struct{ message string }

func (e *Error) Error() string { return e.message }

// LogText returns the kind of the error, because its message may quote terms of the query.
func (e *Error) LogText() string { return "invalid full text query" }

func invalid(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// The largest numbers in a query.
const (
	MaxFuzzyWords      = 1024    // different words of a search, to be compared with each term of an index
	MaxFuzzyExpansions = 1 << 18 // these words times MaxExpansions

	maxTerms      = 1 << 14 // terms of one search, in all columns
	maxExpansions = 10_000
	maxFuzziness  = 1 << 10
	maxWeight     = 1 << 20
)

func factor(what string, f float32) error {
	if !(f >= 0) || math.IsInf(float64(f), 0) {
		return invalid("%s is %v; it must be a number that is not negative", what, f)
	}
	return nil
}

// prepare analyzes the terms of the query. The terms of a fuzzy query on an indexed column are only known
// after Expand.
func (q *Match) prepare(s *Search) (node, error) {
	if err := factor("boost of a match query", q.Boost); err != nil {
		return nil, err
	}
	column, err := s.column(q.Column)
	if err != nil {
		return nil, err
	}
	terms, err := column.analyzer.Query(q.Terms)
	if err != nil {
		return nil, invalid("column %s: %v", q.Column, err)
	}
	leaf := &matchLeaf{column: column, all: q.All, boost: q.Boost}
	if leaf.rest, err = s.slots(column, terms); err != nil {
		return nil, err
	}
	leaf.covered = once(leaf.rest)
	if q.Fuzziness > 0 && column.indexed {
		leaf.covered = nil // until the vocabulary is known
		return leaf, s.fuzzy(leaf, q)
	}
	return leaf, nil
}

// prepare analyzes the terms of the phrase. An index on the column must have positions.
func (q *Phrase) prepare(s *Search) (node, error) {
	if q.Slop < 0 {
		return nil, invalid("slop of a phrase query is %d", q.Slop)
	}
	column, err := s.column(q.Column)
	if err != nil {
		return nil, err
	}
	if column.indexed && !column.analyzer.params.WithPosition {
		return nil, invalid("the index on column %s has no positions, which phrase queries need; create it again with with_position", q.Column)
	}
	terms, err := column.analyzer.Query(q.Terms)
	if err != nil {
		return nil, invalid("column %s: %v", q.Column, err)
	}
	leaf := &matchLeaf{column: column, all: true, boost: 1}
	if leaf.rest, err = s.slots(column, terms); err != nil {
		return nil, err
	}
	leaf.covered = once(leaf.rest)
	if len(terms) > 0 {
		leaf.phrase = s.phrase(column, leaf.rest, q.Slop)
	}
	return leaf, nil
}

func (q *MultiMatch) prepare(s *Search) (node, error) {
	if len(q.Matches) == 0 {
		return nil, invalid("a multi_match query needs a column")
	}
	var best bestOf
	for _, m := range q.Matches {
		leaf, err := m.prepare(s)
		if err != nil {
			return nil, err
		}
		best = append(best, leaf)
	}
	return best, nil
}

func (q *Boost) prepare(s *Search) (node, error) {
	if err := factor("negative_boost", q.NegativeBoost); err != nil {
		return nil, err
	}
	positive, err := q.Positive.prepare(s)
	if err != nil {
		return nil, err
	}
	negative, err := q.Negative.prepare(s)
	return &demoted{positive, negative, q.NegativeBoost}, err
}

// prepare prepares all subqueries.
func (q *Boolean) prepare(s *Search) (node, error) {
	if len(q.Must)+len(q.Should) == 0 {
		return nil, invalid("a boolean query needs a must or a should query")
	}
	var c clauses
	for _, part := range []struct {
		queries []Query
		nodes   *[]node
	}{{q.Must, &c.must}, {q.Should, &c.should}, {q.MustNot, &c.mustNot}} {
		for _, query := range part.queries {
			n, err := query.prepare(s)
			if err != nil {
				return nil, err
			}
			*part.nodes = append(*part.nodes, n)
		}
	}
	return &c, nil
}
