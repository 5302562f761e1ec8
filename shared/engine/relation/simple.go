package relation

import (
	"slices"
	"strings"

	"tiltyard/shared/sql/syntax"
)

// Simple returns the query that a single table answers, without names of sources before columns, or nil. Such a query has
// one block over a table, no groups, no aggregates except count(*) alone, no queries inside, and an order by columns or by
// a search.
func Simple(q *syntax.Query) *syntax.Query {
	b, ok := q.Body.(*syntax.Block)
	if !ok {
		return nil
	}
	t, ok := b.From.(*syntax.Table)
	if !ok || t.Alias.Columns != nil {
		return nil
	}
	if bare := unqualified(q, b, t); isSimple(bare) {
		return bare
	}
	return nil
}

// isSimple reports whether a table answers a query.
func isSimple(q *syntax.Query) bool {
	b, ok := q.Body.(*syntax.Block)
	if !ok || q.With != nil || b.Distinct || b.Group != nil || b.Having != nil {
		return false
	}
	for i, out := range b.Outputs {
		switch call, _ := out.Expr.(*syntax.Call); {
		case out.Expr == nil:
			if out.Of != nil || len(b.Outputs) > 1 {
				return false
			}
		case call != nil && call.Star && call.Filter == nil && strings.EqualFold(call.Name, "count"):
			return i == 0 && len(b.Outputs) == 1 && q.Order == nil && q.Limit == nil && q.Offset == nil && !hasQueries(b.Where) && !searches(b.Where)
		case hasAggregates(out.Expr), hasQueries(out.Expr):
			return false
		}
	}
	for _, key := range q.Order {
		if !sortable(key.Expr, b.Outputs) {
			return false
		}
	}
	// A search for words returns its best rows, so its rows in another order are sorted before they are limited.
	if searches(b.Where) && q.Order != nil && (q.Limit != nil || q.Offset != nil) && !rated(q.Order[0].Expr, b.Outputs) {
		return false
	}
	return !hasQueries(b.Where)
}

// rated reports whether ORDER BY is that of a search.
func rated(e syntax.Expr, outputs []syntax.Output) bool {
	_, ok := syntax.Meant(e, outputs).(*syntax.Call)
	return ok
}

// sortable reports whether a table sorts by an expression: a column, or the name of one, or a search.
func sortable(e syntax.Expr, outputs []syntax.Output) bool {
	switch e := syntax.Meant(e, outputs).(type) {
	case *syntax.Column:
		return true
	case *syntax.Call:
		return slices.Contains([]string{"distance", "score", "relevance"}, strings.ToLower(e.Name))
	}
	return false
}

// searches reports whether a condition is, or has beside AND, a search for words.
func searches(e syntax.Expr) bool {
	return slices.ContainsFunc(syntax.Conjuncts(e), func(e syntax.Expr) bool {
		call, ok := e.(*syntax.Call)
		return ok && strings.EqualFold(call.Name, "match")
	})
}

// hasQueries reports whether an expression has a query inside.
func hasQueries(e syntax.Expr) (has bool) {
	_, _ = syntax.Rewrite(e, func(e syntax.Expr) (syntax.Expr, error) {
		switch e.(type) {
		case *syntax.InQuery, *syntax.Exists, *syntax.Scalar:
			has = true
		}
		return nil, nil //nolint:nilnil // look inside
	})
	return has
}

// unqualified returns a query over a table under its own name only, without names of the source before columns.
func unqualified(q *syntax.Query, b *syntax.Block, t *syntax.Table) *syntax.Query {
	source := sourceOf(t)
	strip := func(e syntax.Expr) syntax.Expr {
		if e == nil {
			return nil
		}
		e, _ = syntax.Rewrite(e, func(e syntax.Expr) (syntax.Expr, error) {
			if c, ok := e.(*syntax.Column); ok {
				for n := len(c.Path) - 1; n > 0; n-- {
					if syntax.EndsWith(source, c.Path[:n], true) {
						return c.At(c.Path[n:]), nil
					}
				}
			}
			return nil, nil //nolint:nilnil // look inside
		})
		return e
	}
	block, query, table := *b, *q, *t
	table.Alias = syntax.Alias{}
	block.From, block.Where = &table, strip(b.Where)
	block.Outputs = nil
	for _, out := range b.Outputs {
		if out.Of != nil && syntax.EndsWith(source, out.Of, true) {
			out.Of = nil
		}
		out.Expr = strip(out.Expr)
		block.Outputs = append(block.Outputs, out)
	}
	query.Body, query.Order = &block, nil
	for _, key := range q.Order {
		key.Expr = strip(key.Expr)
		query.Order = append(query.Order, key)
	}
	return &query
}
