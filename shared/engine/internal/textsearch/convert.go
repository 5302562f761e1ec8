package textsearch

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/queryapi"
)

// These are the defaults of native Lance.
const (
	defaultExpansions    = 50
	defaultNegativeBoost = 0.5
)

// A converter converts queries of the protocol to queries of package fulltext. If a query names no
// column, it searches the columns with an index in which rows are documents.
type converter struct {
	indices Indexes

	// Collected from the parts of the query that have been converted:
	columns  []string // the searched columns
	elements bool     // documents are list elements
}

// indexed returns the columns that a query without columns searches.
func (t *converter) indexed() []string { return slices.Sorted(maps.Keys(t.indices.rows)) }

// search decides whether the documents of a column are rows or list elements, as native Lance does:
// by the query, or else by the index on the column. All parts of a query must have the same kind of
// documents.
func (t *converter) search(column string, asked queryapi.Granularity) error {
	byRow, byElement := t.indices.rows[column], t.indices.elements[column]
	elements := asked == queryapi.GranularityElement
	switch {
	case asked == queryapi.GranularityUnset && byRow != nil && byElement != nil:
		return protocol.Errorf(protocol.InvalidInput,
			"full_text_query: column %s has a text index of rows, %s, and one of list elements, %s; choose one by document_granularity", column, byRow.Name, byElement.Name)
	case asked == queryapi.GranularityUnset:
		elements = byElement != nil
	case elements && byElement == nil && byRow != nil:
		return protocol.Errorf(protocol.InvalidInput,
			"full_text_query: document_granularity is list_element, and the text index %s on column %s is one of rows", byRow.Name, column)
	case !elements && byRow == nil && byElement != nil:
		return protocol.Errorf(protocol.InvalidInput,
			"full_text_query: document_granularity is row, and the text index %s on column %s is one of list elements", byElement.Name, column)
	}
	if len(t.columns) > 0 && elements != t.elements {
		return protocol.Errorf(protocol.InvalidInput,
			"full_text_query: documents are rows in one part of the query and list elements in another; use the same document_granularity in all")
	}
	if elements && len(t.columns) > 0 && column != t.columns[0] {
		return protocol.Errorf(protocol.InvalidInput,
			"full_text_query: documents are the elements of lists in %s and in %s; elements of one column only can be searched together", t.columns[0], column)
	}
	t.columns, t.elements = append(t.columns, column), elements
	return nil
}

// Convert converts the query of a request. elements means that documents are list elements. The error is InvalidInput.
func (x Indexes) Convert(q *queryapi.FullTextQuery) (converted fulltext.Query, elements bool, err error) {
	c := converter{indices: x}
	converted, err = c.of(q)
	return converted, c.elements, err
}

// of converts the query of a request.
func (t *converter) of(q *queryapi.FullTextQuery) (fulltext.Query, error) {
	if q.Node != nil {
		return t.node(q.Node)
	}
	columns := q.Columns
	documents := queryapi.GranularityUnset
	if len(columns) == 0 {
		columns, documents = t.indexed(), queryapi.GranularityRow
	}
	// Words in quotes are a phrase.
	if text, quoted := strings.CutPrefix(q.Text, `"`); quoted && len(text) > 0 && strings.HasSuffix(text, `"`) {
		return t.phraseIn(columns, &queryapi.PhraseQuery{Terms: strings.TrimSuffix(text, `"`), Documents: documents})
	}
	return t.matches(columns, queryapi.MatchQuery{Terms: q.Text, Documents: documents}, nil)
}

// node converts a part of a structured query.
func (t *converter) node(n *queryapi.TextQuery) (fulltext.Query, error) {
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

// errNoTextIndex is the error for a query without columns if no column has a text index, as in
// native Lance.
func errNoTextIndex() error {
	return &protocol.Error{
		Code: protocol.InvalidInput, Message: "full_text_query names no column, and no column has a text index",
		Detail: "name the columns to search, or create an FTS index on one",
	}
}

// only returns the column that a phrase searches. A phrase needs exactly one.
func (t *converter) only(columns []string) (string, error) {
	switch len(columns) {
	case 0:
		return "", errNoTextIndex()
	case 1:
		return columns[0], nil
	}
	return "", protocol.Errorf(protocol.InvalidInput, "full_text_query: a phrase needs exactly one column; choose one of %s", strings.Join(columns, ", "))
}

// match converts a match query. Without a column it searches all indexed columns.
func (t *converter) match(m *queryapi.MatchQuery) (fulltext.Query, error) {
	if m.Column != "" {
		return t.matchOf(m, m.Column, nil)
	}
	if m.Documents == queryapi.GranularityElement {
		return nil, errNoElementColumn()
	}
	inRows := *m
	inRows.Documents = queryapi.GranularityRow
	return t.matches(t.indexed(), inRows, nil)
}

// errNoElementColumn is the error for a search of list elements without a column.
func errNoElementColumn() error {
	return protocol.Errorf(protocol.InvalidInput, "full_text_query: a query with document_granularity list_element needs a column")
}

// matches searches several columns for the same words. boosts is nil, or has one boost per column.
func (t *converter) matches(columns []string, m queryapi.MatchQuery, boosts []float64) (fulltext.Query, error) {
	if len(columns) == 0 {
		return nil, errNoTextIndex()
	}
	several := &fulltext.MultiMatch{}
	for i, column := range columns {
		var boost *float64
		if boosts != nil {
			boost = &boosts[i]
		}
		one, err := t.matchOf(&m, column, boost)
		if err != nil {
			return nil, err
		}
		several.Matches = append(several.Matches, one)
	}
	if len(several.Matches) == 1 {
		return several.Matches[0], nil
	}
	return several, t.byRow("multi_match")
}

// byRow returns an error for a kind of query that cannot search list elements.
func (t *converter) byRow(kind string) error {
	if t.elements {
		return protocol.Errorf(protocol.InvalidInput, "full_text_query: %s searches whole rows, and column %s has a text index of list elements only; use match or phrase", kind, t.columns[0])
	}
	return nil
}

// matchOf returns a match query on one column. boost replaces the boost of the query unless it is
// nil. Automatic fuzziness means none, as in native Lance.
func (t *converter) matchOf(m *queryapi.MatchQuery, column string, boost *float64) (*fulltext.Match, error) {
	if err := t.search(column, m.Documents); err != nil {
		return nil, err
	}
	if boost == nil {
		boost = m.Boost
	}
	one := &fulltext.Match{
		Column: column, Terms: m.Terms, All: m.Operator == queryapi.TextAnd, Boost: 1, MaxExpansions: defaultExpansions,
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

func (t *converter) phrase(p *queryapi.PhraseQuery) (fulltext.Query, error) {
	switch {
	case p.Column != "":
		return t.phraseIn([]string{p.Column}, p)
	case p.Documents == queryapi.GranularityElement:
		return nil, errNoElementColumn()
	}
	inRows := *p
	inRows.Documents = queryapi.GranularityRow
	return t.phraseIn(t.indexed(), &inRows)
}

// phraseIn searches the only column in columns for a phrase.
func (t *converter) phraseIn(columns []string, p *queryapi.PhraseQuery) (fulltext.Query, error) {
	column, err := t.only(columns)
	if err != nil {
		return nil, err
	}
	return &fulltext.Phrase{Column: column, Terms: p.Terms, Slop: toInt(p.Slop)}, t.search(column, p.Documents)
}

// boost converts a query whose negative part lowers the scores of the positive one.
func (t *converter) boost(b *queryapi.BoostQuery) (fulltext.Query, error) {
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

// multiMatch converts a match query on several columns.
func (t *converter) multiMatch(m *queryapi.MultiMatchQuery) (fulltext.Query, error) {
	if len(m.MatchQueries) == 0 {
		if len(m.Boost) > 0 && len(m.Boost) != len(m.Columns) {
			return nil, protocol.Errorf(protocol.InvalidInput, "full_text_query: multi_match has %d boosts for %d columns", len(m.Boost), len(m.Columns))
		}
		boosts := m.Boost
		if len(boosts) == 0 {
			boosts = nil
		}
		q, err := t.matches(m.Columns, queryapi.MatchQuery{Terms: m.Query}, boosts)
		return q, cmp.Or(err, t.byRow("multi_match"))
	}
	several := &fulltext.MultiMatch{}
	for i := range m.MatchQueries {
		q := m.MatchQueries[i]
		// Without a column, each match query searches all indexed columns.
		columns := []string{q.Column}
		if q.Column == "" {
			columns, q.Documents = t.indexed(), queryapi.GranularityRow
		}
		if len(columns) == 0 {
			return nil, errNoTextIndex()
		}
		for _, column := range columns {
			one, err := t.matchOf(&q, column, nil)
			if err != nil {
				return nil, err
			}
			several.Matches = append(several.Matches, one)
		}
	}
	return several, t.byRow("multi_match")
}

// boolean converts a query with required, optional and excluded parts.
func (t *converter) boolean(b *queryapi.BooleanQuery) (fulltext.Query, error) {
	var q fulltext.Boolean
	for _, part := range []struct {
		nodes []queryapi.TextQuery
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

// combined converts a query that treats several columns as one text.
func (t *converter) combined(c *queryapi.CombinedFieldsQuery) (fulltext.Query, error) {
	for _, column := range c.Columns {
		asked := queryapi.GranularityUnset
		if t.indices.rows[column] != nil {
			asked = queryapi.GranularityRow
		}
		if err := cmp.Or(t.search(column, asked), t.byRow("combined_fields")); err != nil {
			return nil, err
		}
	}
	q := &fulltext.CombinedFields{Columns: c.Columns, Terms: c.Query, All: c.Operator == queryapi.TextAnd}
	for _, w := range c.Boost {
		q.Weights = append(q.Weights, float32(w))
	}
	return q, nil
}
