package queryapi

import (
	"encoding/json"

	"tiltyard/shared/protocol"
)

// FullTextQuery is a search for words. Either Text or Node is set.
//
// On the wire it is {"string_query": {"query", "columns"}} or {"structured_query":
// {"query": node}}, or from LanceDB clients the inside of the one or the other.
type FullTextQuery struct {
	Text    string     // words, or a phrase in double quotes
	Columns []string   // where Text is searched; empty: all columns with a text index
	Node    *TextQuery // a structured query
}

// TextQuery is a node of a structured query: exactly one field is set.
type TextQuery struct {
	Match          *MatchQuery          `json:"match"`
	Phrase         *PhraseQuery         `json:"phrase"`
	Boost          *BoostQuery          `json:"boost"`
	MultiMatch     *MultiMatchQuery     `json:"multi_match"`
	Boolean        *BooleanQuery        `json:"boolean"`
	CombinedFields *CombinedFieldsQuery `json:"combined_fields"`
}

// MatchQuery finds rows that hold some or all of the terms.
type MatchQuery struct {
	Terms         string       `json:"terms"`
	Column        string       `json:"column"` // empty: all columns with a text index
	Boost         *float64     `json:"boost"`  // nil is 1
	Fuzziness     OptionalInt  `json:"fuzziness"`
	MaxExpansions *int64       `json:"max_expansions"` // nil is 50
	Operator      TextOperator `json:"operator"`
	PrefixLength  int64        `json:"prefix_length"`
	Documents     Granularity  `json:"document_granularity"`
}

// PhraseQuery finds rows that hold the terms in order.
type PhraseQuery struct {
	Terms  string `json:"terms"`
	Column string `json:"column"`
	Slop   int64  `json:"slop"` // words that may lie between

	Documents Granularity `json:"document_granularity"`
}

// BoostQuery finds the rows of Positive and lowers those that Negative finds, too.
type BoostQuery struct {
	Positive      *TextQuery `json:"positive"`
	Negative      *TextQuery `json:"negative"`
	NegativeBoost *float64   `json:"negative_boost"` // nil is 0.5
}

// MultiMatchQuery finds rows in which any of several columns matches. MatchQueries wins
// over the other fields.
type MultiMatchQuery struct {
	MatchQueries []MatchQuery `json:"match_queries"`
	Query        string       `json:"query"`
	Columns      []string     `json:"columns"`
	Boost        []float64    `json:"boost"` // one per column; empty: all 1
}

// BooleanQuery finds the rows that all of Must and none of MustNot find. Should adds to
// the score, and finds rows itself when Must is empty.
type BooleanQuery struct {
	Must    []TextQuery `json:"must"`
	Should  []TextQuery `json:"should"`
	MustNot []TextQuery `json:"must_not"`
}

// CombinedFieldsQuery finds rows whose columns, taken as one text, match.
type CombinedFieldsQuery struct {
	Query    string       `json:"query"`
	Columns  []string     `json:"columns"`
	Boost    []float64    `json:"boost"`
	Operator TextOperator `json:"operator"`
}

// TextOperator says how many of the terms must match.
type TextOperator uint8

// The text operators; the first is the default.
const (
	TextOr TextOperator = iota
	TextAnd
)

var textOperators = protocol.NewEnum("operator", "Or", "And")

// String returns the PascalCase spelling.
func (o TextOperator) String() string { return textOperators.Text(uint8(o)) }

// MarshalText writes the same text as String. The error is for an unknown value.
func (o TextOperator) MarshalText() ([]byte, error) { return textOperators.Marshal(uint8(o)) }

// UnmarshalText accepts the spellings in any case.
func (o *TextOperator) UnmarshalText(text []byte) error {
	return textOperators.Parse(text, (*uint8)(o))
}

// Granularity selects what is a document of a search: the whole text of a row, or each element of a list.
type Granularity uint8

// The granularities. Without one, that of the index on the column counts.
const (
	GranularityUnset Granularity = iota
	GranularityRow
	GranularityElement
)

var granularities = protocol.NewEnum("document_granularity", "", "row", "list_element")

// String returns the lower-case spelling.
func (g Granularity) String() string { return granularities.Text(uint8(g)) }

// MarshalText writes the same text as String. The error is for an unknown value.
func (g Granularity) MarshalText() ([]byte, error) { return granularities.Marshal(uint8(g)) }

// UnmarshalText accepts the spellings in any case.
func (g *Granularity) UnmarshalText(text []byte) error {
	return granularities.Parse(text, (*uint8)(g))
}

// OptionalInt is a number for which null, or "auto", means something else than absence: a
// null fuzziness is chosen by the length of the term, an absent one is 0.
type OptionalInt struct {
	Null  bool
	Value int64
}

// MarshalJSON writes a number or null.
func (o OptionalInt) MarshalJSON() ([]byte, error) {
	if o.Null {
		return []byte("null"), nil
	}
	return json.Marshal(o.Value)
}

// UnmarshalJSON reads a number, null or "auto".
func (o *OptionalInt) UnmarshalJSON(data []byte) error {
	*o = OptionalInt{Null: !given(data) || string(data) == `"auto"`}
	if o.Null {
		return nil
	}
	return json.Unmarshal(data, &o.Value)
}

// MarshalJSON writes the form of the public specification.
func (q FullTextQuery) MarshalJSON() ([]byte, error) {
	type inside struct {
		Query   any      `json:"query"`
		Columns []string `json:"columns,omitempty"`
	}
	if q.Node != nil {
		return json.Marshal(map[string]inside{"structured_query": {q.Node, q.Columns}})
	}
	return json.Marshal(map[string]inside{"string_query": {q.Text, q.Columns}})
}

// UnmarshalJSON reads the four forms of the wire.
func (q *FullTextQuery) UnmarshalJSON(data []byte) error {
	*q = FullTextQuery{}
	if text, ok := plainText(data); ok {
		q.Text = text
		return nil
	}
	if firstByte(data) != '{' {
		return protocol.Errorf(protocol.InvalidInput, "full_text_query must be an object with string_query or structured_query")
	}
	var forms struct {
		Text       json.RawMessage `json:"string_query"`
		Structured json.RawMessage `json:"structured_query"`
	}
	if err := json.Unmarshal(data, &forms); err != nil {
		return protocol.Errorf(protocol.InvalidInput, "full_text_query: %w", err)
	}
	switch {
	case given(forms.Text) && given(forms.Structured):
		return protocol.Errorf(protocol.InvalidInput, "full_text_query has both string_query and structured_query; give one")
	case given(forms.Text):
		return q.parseInside(forms.Text)
	case given(forms.Structured):
		return q.parseInside(forms.Structured)
	}
	return q.parseInside(data)
}

// parseInside reads {"query": text, "columns": [..]} or {"query": node}.
func (q *FullTextQuery) parseInside(data []byte) error {
	var inside struct {
		Query   json.RawMessage `json:"query"`
		Columns []string        `json:"columns"`
	}
	if err := json.Unmarshal(data, &inside); err != nil {
		return protocol.Errorf(protocol.InvalidInput, "full_text_query: %w", err)
	}
	q.Columns = inside.Columns
	switch firstByte(inside.Query) {
	case '"':
		return json.Unmarshal(inside.Query, &q.Text)
	case '{':
		q.Node = new(TextQuery)
		if err := json.Unmarshal(inside.Query, q.Node); err != nil {
			return protocol.Errorf(protocol.InvalidInput, "full_text_query.query: %w", err)
		}
		return q.Node.check()
	}
	return protocol.Errorf(protocol.InvalidInput, "full_text_query.query must be a text or a query object")
}

// check requires exactly one kind of query in each node.
func (n *TextQuery) check() error {
	kinds := 0
	for _, set := range []bool{n.Match != nil, n.Phrase != nil, n.Boost != nil, n.MultiMatch != nil, n.Boolean != nil, n.CombinedFields != nil} {
		if set {
			kinds++
		}
	}
	if kinds != 1 {
		return protocol.Errorf(protocol.InvalidInput, "full_text_query: a query object needs exactly one of match, phrase, boost, multi_match, boolean, combined_fields; got %d", kinds)
	}
	if n.Boost != nil {
		if n.Boost.Positive == nil || n.Boost.Negative == nil {
			return protocol.Errorf(protocol.InvalidInput, "full_text_query: boost needs positive and negative")
		}
	}
	for _, child := range n.children() {
		if err := child.check(); err != nil {
			return err
		}
	}
	return nil
}

// children returns the parts of a query that are queries themselves.
func (n *TextQuery) children() []*TextQuery {
	var children []*TextQuery
	if n.Boost != nil {
		children = append(children, n.Boost.Positive, n.Boost.Negative)
	}
	if n.Boolean != nil {
		for _, clauses := range [][]TextQuery{n.Boolean.Must, n.Boolean.Should, n.Boolean.MustNot} {
			for i := range clauses {
				children = append(children, &clauses[i])
			}
		}
	}
	return children
}
