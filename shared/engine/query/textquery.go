package query

import (
	"math"
	"strings"

	"tiltyard/shared/fulltext"
	"tiltyard/shared/protocol"
)

// These are the defaults of queries.
const (
	defaultExpansions    = 50
	defaultNegativeBoost = 0.5
)

// A textQuery turns queries of the protocol into those of the search. indexed are the columns with
// a text index; a query that names no column searches these.
type textQuery struct{ indexed []string }

// of returns the query of a request.
func (t textQuery) of(q *protocol.FullTextQuery) (fulltext.Query, error) {
	if q.Node != nil {
		return t.node(q.Node)
	}
	columns := q.Columns
	if len(columns) == 0 {
		columns = t.indexed
	}
	// Words in quotes are a phrase.
	if text, quoted := strings.CutPrefix(q.Text, `"`); quoted && len(text) > 0 && strings.HasSuffix(text, `"`) {
		column, err := t.only(columns)
		return &fulltext.Phrase{Column: column, Terms: strings.TrimSuffix(text, `"`)}, err
	}
	return t.matches(columns, protocol.MatchQuery{Terms: q.Text}, nil)
}

func (t textQuery) node(n *protocol.TextQuery) (fulltext.Query, error) {
	switch {
	case n.Match != nil:
		return t.match(n.Match)
	case n.Phrase != nil:
		return t.phrase(n.Phrase)
	case n.Boost != nil:
		return t.boost(n.Boost)
	case n.MultiMatch != nil:
		return t.multiMatch(n.MultiMatch)
	case n.Boolean != nil:
		return t.boolean(n.Boolean)
	}
	return t.combined(n.CombinedFields)
}

// errNoTextIndex is the error that native Lance returns as well.
func errNoTextIndex() error {
	return &protocol.Error{
		Code: protocol.InvalidInput, Message: "full_text_query names no column, and no column has a text index",
		Detail: "name the columns to search, or create an FTS index on one",
	}
}

// only returns the single column that a phrase searches.
func (t textQuery) only(columns []string) (string, error) {
	switch len(columns) {
	case 0:
		return "", errNoTextIndex()
	case 1:
		return columns[0], nil
	}
	return "", protocol.Errorf(protocol.InvalidInput, "full_text_query: a phrase needs exactly one column; choose one of %s", strings.Join(columns, ", "))
}

func (t textQuery) match(m *protocol.MatchQuery) (fulltext.Query, error) {
	if m.Column != "" {
		return matchOf(m, m.Column, nil)
	}
	return t.matches(t.indexed, *m, nil)
}

// matches searches several columns for the same words. boosts is nil, or holds one boost per
// column.
func (t textQuery) matches(columns []string, m protocol.MatchQuery, boosts []float64) (fulltext.Query, error) {
	if len(columns) == 0 {
		return nil, errNoTextIndex()
	}
	several := &fulltext.MultiMatch{}
	for i, column := range columns {
		var boost *float64
		if boosts != nil {
			boost = &boosts[i]
		}
		one, err := matchOf(&m, column, boost)
		if err != nil {
			return nil, err
		}
		several.Matches = append(several.Matches, one)
	}
	if len(several.Matches) == 1 {
		return several.Matches[0], nil
	}
	return several, nil
}

// matchOf returns a match query for a column. Its boost is that of the query, unless boost is
// given. Automatic fuzziness means none, as in native Lance.
func matchOf(m *protocol.MatchQuery, column string, boost *float64) (*fulltext.Match, error) {
	if boost == nil {
		boost = m.Boost
	}
	one := &fulltext.Match{
		Column: column, Terms: m.Terms, All: m.Operator == protocol.TextAnd, Boost: 1, MaxExpansions: defaultExpansions,
	}
	if boost != nil {
		one.Boost = float32(*boost)
	}
	if m.MaxExpansions != nil {
		one.MaxExpansions = toInt(*m.MaxExpansions)
	}
	if m.Fuzziness.Value < 0 || m.PrefixLength < 0 || one.MaxExpansions < 0 {
		return nil, protocol.Errorf(protocol.InvalidInput, "full_text_query: fuzziness, prefix_length and max_expansions must not be negative")
	}
	one.Fuzziness, one.PrefixLength = toInt(m.Fuzziness.Value), toInt(m.PrefixLength)
	return one, nil
}

func toInt(n int64) int { return int(min(n, math.MaxInt32)) }

func (t textQuery) phrase(p *protocol.PhraseQuery) (fulltext.Query, error) {
	column := p.Column
	if column == "" {
		var err error
		if column, err = t.only(t.indexed); err != nil {
			return nil, err
		}
	}
	return &fulltext.Phrase{Column: column, Terms: p.Terms, Slop: toInt(p.Slop)}, nil
}

func (t textQuery) boost(b *protocol.BoostQuery) (fulltext.Query, error) {
	positive, err := t.node(b.Positive)
	if err != nil {
		return nil, err
	}
	negative, err := t.node(b.Negative)
	if err != nil {
		return nil, err
	}
	by := float32(defaultNegativeBoost)
	if b.NegativeBoost != nil {
		by = float32(*b.NegativeBoost)
	}
	return &fulltext.Boost{Positive: positive, Negative: negative, NegativeBoost: by}, nil
}

func (t textQuery) multiMatch(m *protocol.MultiMatchQuery) (fulltext.Query, error) {
	if len(m.MatchQueries) == 0 {
		if len(m.Boost) > 0 && len(m.Boost) != len(m.Columns) {
			return nil, protocol.Errorf(protocol.InvalidInput, "full_text_query: multi_match has %d boosts for %d columns", len(m.Boost), len(m.Columns))
		}
		boosts := m.Boost
		if len(boosts) == 0 {
			boosts = nil
		}
		return t.matches(m.Columns, protocol.MatchQuery{Terms: m.Query}, boosts)
	}
	several := &fulltext.MultiMatch{}
	for i := range m.MatchQueries {
		q := &m.MatchQueries[i]
		columns := []string{q.Column}
		if q.Column == "" {
			columns = t.indexed
		}
		if len(columns) == 0 {
			return nil, errNoTextIndex()
		}
		for _, column := range columns {
			one, err := matchOf(q, column, nil)
			if err != nil {
				return nil, err
			}
			several.Matches = append(several.Matches, one)
		}
	}
	return several, nil
}

func (t textQuery) boolean(b *protocol.BooleanQuery) (fulltext.Query, error) {
	var q fulltext.Boolean
	for _, part := range []struct {
		nodes []protocol.TextQuery
		into  *[]fulltext.Query
	}{{b.Must, &q.Must}, {b.Should, &q.Should}, {b.MustNot, &q.MustNot}} {
		for i := range part.nodes {
			clause, err := t.node(&part.nodes[i])
			if err != nil {
				return nil, err
			}
			*part.into = append(*part.into, clause)
		}
	}
	return &q, nil
}

func (t textQuery) combined(c *protocol.CombinedFieldsQuery) (fulltext.Query, error) {
	q := &fulltext.CombinedFields{Columns: c.Columns, Terms: c.Query, All: c.Operator == protocol.TextAnd}
	for _, w := range c.Boost {
		q.Weights = append(q.Weights, float32(w))
	}
	return q, nil
}
