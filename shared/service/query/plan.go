package query

import (
	"errors"
	"strings"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/sql"
	"tiltyard/shared/sql/syntax"
)

// A plan is a query that one table answers, as a request of it.
type plan struct {
	id      []string
	request queryapi.Request
	tag     string   // of the version; "" if the request has it
	outputs []string // the columns of the answer; nil: all of the table
	open    bool     // the vector of a search may be missing, as the statement is only described
	count   string   // the name of the only column, which counts the rows; "" if rows are asked for

	written map[string]syntax.Expr // the expressions of the statement, by the names that errors of the request have for them
}

// The functions that stand for a search: distance(column, vector[, 'metric']) is in ORDER BY, match([column, ] 'words')
// in WHERE, and score() is the score of match. relevance(distance(…), match(…)), in ORDER BY, is a search for both.
const (
	distance  = "distance"
	match     = "match"
	score     = "score"
	relevance = "relevance"
)

// filterField is the name of the filter in errors of a request.
const filterField = "filter"

// The columns that a search adds to its rows.
const (
	distanceColumn  = "_distance"
	scoreColumn     = "_score"
	relevanceColumn = "_relevance_score"
)

// planOf plans a simple query. Errors are *sql.Error.
func planOf(q *syntax.Query, req *queryapi.StatementRequest) (*plan, error) {
	b := q.Body.(*syntax.Block)
	table := b.From.(*syntax.Table)
	p := &plan{id: idOf(table, req.NamespaceID), tag: table.Tag, open: req.Describe != queryapi.DescribeNothing, written: map[string]syntax.Expr{}}
	p.request.ID, p.request.Version, p.request.Branch = p.id, table.Version, table.Branch
	p.request.Prefilter = true
	if q.Offset != nil {
		p.request.Offset = *q.Offset
	}
	if err := p.where(b.Where); err != nil {
		return nil, err
	}
	if err := p.order(q, b.Outputs); err != nil {
		return nil, err
	}
	return p, p.choose(q, b.Outputs)
}

// idOf returns the id of a table. namespace is that of names without one. Drivers know schemas of one name, which for a
// namespace within others is the joined id.
func idOf(t *syntax.Table, namespace []string) (id []string) {
	if len(t.Name) == 1 {
		id = append(id, namespace...)
	}
	for _, part := range t.Name {
		id = append(id, part.Text)
	}
	return protocol.Resplit(id, protocol.DefaultDelimiter)
}

// searches reports whether the rows are those that a search has found.
func (p *plan) searches() bool { return !p.request.Vector.Empty() || p.request.FullTextQuery != nil }

// isRating reports whether a search adds the column of a name to its rows.
func isRating(name string) bool {
	return name == distanceColumn || name == scoreColumn || name == relevanceColumn
}

// where divides a condition into the search for words and the filter.
func (p *plan) where(condition syntax.Expr) error {
	var rest []syntax.Expr
	for _, part := range syntax.Conjuncts(condition) {
		call := callOf(part, match)
		switch {
		case call == nil:
			rest = append(rest, part)
			continue
		case p.request.FullTextQuery != nil:
			return sql.Errorf(sql.ErrUnsupported, call.Pos(), "match twice")
		}
		if err := p.containing(call); err != nil {
			return err
		}
	}
	if rest != nil {
		filter := syntax.Conjunction(rest)
		p.request.Filter, p.written[filterField] = filter.String(), filter
	}
	return nil
}

// containing makes match(…) the search for words.
func (p *plan) containing(call *syntax.Call) error {
	var texts []string
	for i, arg := range call.Args {
		switch arg := arg.(type) {
		case *syntax.Text:
			texts = append(texts, arg.Value)
		case *syntax.Column:
			if i == 0 {
				p.request.FullTextQuery = &queryapi.FullTextQuery{Columns: []string{pathOf(arg)}}
			}
		}
	}
	if p.request.FullTextQuery == nil {
		p.request.FullTextQuery = new(queryapi.FullTextQuery)
	}
	if len(texts) != 1 || len(texts)+len(p.request.FullTextQuery.Columns) != len(call.Args) {
		return sql.Errorf(sql.ErrSyntax, call.Pos(), "%s: it is match(column, 'words'), or match('words') in all columns with an index of words", call)
	}
	p.request.FullTextQuery.Text = texts[0]
	return nil
}

// callOf returns an expression as a call of a function, or nil.
func callOf(e syntax.Expr, name string) *syntax.Call {
	if call, ok := e.(*syntax.Call); ok && strings.EqualFold(call.Name, name) {
		return call
	}
	return nil
}

// pathOf returns a path without the quotes of its names.
func pathOf(c *syntax.Column) string {
	if len(c.Path) == 1 {
		return c.Path[0].Text
	}
	return c.String()
}

// order turns ORDER BY into a search for the nearest vectors, or into columns to sort by.
func (p *plan) order(s *syntax.Query, outputs []syntax.Output) error {
	for i, key := range s.Order {
		e := syntax.Meant(key.Expr, outputs)
		if call := callOf(e, distance); call != nil {
			return p.nearest(s, i, call)
		}
		if call := callOf(e, relevance); call != nil {
			return p.relevant(s, i, call)
		}
		if call := callOf(e, score); call != nil {
			if p.request.FullTextQuery == nil || !key.Descending || len(s.Order) > 1 || len(call.Args) > 0 {
				return sql.Errorf(sql.ErrUnsupported, call.Pos(), "score() other than in WHERE match(…) ORDER BY score() DESC")
			}
			return nil // as the search returns its rows
		}
		column, ok := e.(*syntax.Column)
		if !ok {
			return sql.Errorf(sql.ErrUnsupported, key.Expr.Pos(), "ORDER BY %s: it takes columns of the table, distance(…), score() and relevance(…)", key.Expr)
		}
		p.request.OrderBy = append(p.request.OrderBy, queryapi.OrderBy{ColumnName: pathOf(column), Ascending: new(!key.Descending), NullsFirst: key.NullsFirst})
	}
	// A search keeps only its best rows, before they are sorted.
	if p.request.OrderBy != nil && p.request.FullTextQuery != nil && (s.Limit != nil || s.Offset != nil) {
		return sql.Errorf(sql.ErrUnsupported, s.Order[0].Expr.Pos(), "LIMIT of found rows in another order than score() DESC")
	}
	return nil
}

// nearest is ORDER BY distance(…) LIMIT n.
func (p *plan) nearest(s *syntax.Query, at int, call *syntax.Call) error {
	switch {
	case at > 0 || len(s.Order) > 1:
		return sql.Errorf(sql.ErrUnsupported, call.Pos(), "ORDER BY distance(…) with other keys")
	case s.Order[at].Descending:
		return sql.Errorf(sql.ErrUnsupported, call.Pos(), "ORDER BY distance(…) DESC: a search finds the nearest")
	case s.Limit == nil:
		return sql.Errorf(sql.ErrUnsupported, call.Pos(), "ORDER BY distance(…) without LIMIT")
	case p.request.FullTextQuery != nil:
		return sql.Errorf(sql.ErrUnsupported, call.Pos(), "match in WHERE and ORDER BY distance(…) (ORDER BY relevance(distance(…), match(…)) DESC searches for both)")
	}
	return p.near(call)
}

// relevant is ORDER BY relevance(distance(…), match(…)) DESC LIMIT n, which joins the rows of both searches by their ranks.
func (p *plan) relevant(s *syntax.Query, at int, call *syntax.Call) error {
	switch {
	case at > 0 || len(s.Order) > 1 || !s.Order[at].Descending || s.Limit == nil:
		return sql.Errorf(sql.ErrUnsupported, call.Pos(), "relevance(…) other than in ORDER BY relevance(…) DESC LIMIT n")
	case p.request.FullTextQuery != nil:
		return sql.Errorf(sql.ErrUnsupported, call.Pos(), "match in WHERE and ORDER BY relevance(…), which searches for words itself")
	case len(call.Args) != 2 || callOf(call.Args[0], distance) == nil || callOf(call.Args[1], match) == nil:
		return sql.Errorf(sql.ErrSyntax, call.Pos(), "%.80s: it is relevance(distance(column, vector), match(column, 'words'))", call)
	}
	if err := p.near(callOf(call.Args[0], distance)); err != nil {
		return err
	}
	return p.containing(callOf(call.Args[1], match))
}

// near makes distance(…) the search for the nearest vectors.
func (p *plan) near(call *syntax.Call) error {
	if len(call.Args) < 2 || len(call.Args) > 3 {
		return sql.Errorf(sql.ErrSyntax, call.Pos(), "distance takes a column, a vector and, optionally, a metric; it got %d arguments", len(call.Args))
	}
	column, ok := call.Args[0].(*syntax.Column)
	if !ok {
		return sql.Errorf(sql.ErrSyntax, call.Pos(), "distance: %.40s is not a column", call.Args[0])
	}
	vector, err := vectorOf(call.Args[1])
	if _, missing := call.Args[1].(*syntax.Null); missing && p.open {
		vector, err = []float64{0}, nil // describe finds out how long it is
	}
	if err != nil {
		return sql.Errorf(sql.ErrSyntax, call.Pos(), "distance: %v", err)
	}
	p.request.VectorColumn, p.request.Vector = pathOf(column), queryapi.Vector{Vectors: [][]float64{vector}}
	if len(call.Args) == 3 {
		metric, ok := call.Args[2].(*syntax.Text)
		if !ok || p.request.DistanceType.UnmarshalText([]byte(metric.Value)) != nil {
			return sql.Errorf(sql.ErrSyntax, call.Pos(), "distance: %.40s is not a metric: 'l2', 'cosine', 'dot' or 'hamming'", call.Args[2])
		}
	}
	return nil
}

// choose plans the columns of the answer.
func (p *plan) choose(q *syntax.Query, outputs []syntax.Output) error {
	for _, out := range outputs {
		if out.Expr == nil {
			return nil // *
		}
		if call := callOf(out.Expr, "count"); call != nil && call.Star {
			if p.searches() {
				return sql.Errorf(sql.ErrUnsupported, call.Pos(), "count(*) of the rows with words (count them in a query around: SELECT count(*) FROM (SELECT …))")
			}
			p.count = out.Name
			return nil
		}
		text, err := p.expression(q, outputs, out.Expr)
		if err != nil {
			return err
		}
		p.outputs, p.written["column "+out.Name] = append(p.outputs, out.Name), out.Expr
		p.request.Columns = append(p.request.Columns, queryapi.ProjectedColumn{Name: out.Name, Expression: text})
	}
	return nil
}

// expression returns the text of an output.
func (p *plan) expression(q *syntax.Query, outputs []syntax.Output, e syntax.Expr) (string, error) {
	if callOf(e, score) != nil && p.request.FullTextQuery != nil {
		return scoreColumn, nil
	}
	name := ""
	switch {
	case callOf(e, distance) != nil:
		name = distanceColumn
	case callOf(e, relevance) != nil:
		name = relevanceColumn
	default:
		return e.String(), nil
	}
	if !p.request.Vector.Empty() {
		by := syntax.Meant(q.Order[0].Expr, outputs)
		if by.String() == e.String() {
			return name, nil
		}
		if both := callOf(by, relevance); both != nil && both.Args[0].String() == e.String() {
			return name, nil
		}
	}
	return "", sql.Errorf(sql.ErrUnsupported, e.Pos(), "%s(…) without ORDER BY of the same %[1]s(…)", strings.ToLower(e.(*syntax.Call).Name))
}

// placed moves the place of an error in an expression of the request to its place in the statement.
func (p *plan) placed(err error) error {
	var known *protocol.Error
	var bad *sql.Error
	if !errors.As(err, &known) || !errors.As(known.Err, &bad) || bad.Pos < 0 {
		return err
	}
	what, _ := strings.CutSuffix(known.Message, ": "+bad.Error())
	written := p.written[what]
	if written == nil {
		return err
	}
	moved := *known
	in := bad.Moved(syntax.Place(written, bad.Pos))
	moved.Message, moved.Err = "query: "+in.Error(), in
	return &moved
}
