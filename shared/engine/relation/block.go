package relation

import (
	"slices"
	"strconv"
	"strings"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/aggregate"
	"tiltyard/shared/sql/syntax"
)

// aggregates reports whether a call is one of an aggregate function.
func aggregates(c *syntax.Call) bool {
	return c.Star || c.Distinct || c.Filter != nil || aggregate.Named(c.Name)
}

// hasAggregates reports whether an expression calls an aggregate function.
func hasAggregates(e syntax.Expr) (has bool) {
	_, _ = syntax.Rewrite(e, func(e syntax.Expr) (syntax.Expr, error) {
		if c, ok := e.(*syntax.Call); ok && aggregates(c) {
			has = true
		}
		return nil, nil //nolint:nilnil // look inside
	})
	return has
}

// block plans SELECT together with its order and limit.
func (p *planner) block(q *syntax.Query, b *syntax.Block) (*relation, error) {
	if r, err := p.answered(q, b); r != nil || err != nil {
		return r, err
	}
	q, b, inner, err := p.inner(q, b)
	if err != nil {
		return nil, err
	}
	in, err := p.from(b, inner...)
	if err != nil {
		return nil, err
	}
	outputs, err := p.outputs(b, in)
	if err != nil {
		return nil, err
	}
	order, err := p.orderOf(q, in, outputs)
	if err != nil {
		return nil, err
	}
	if err := p.groups(b, in, outputs, order); err != nil {
		return nil, err
	}
	return p.finish(q, b, in, outputs, order)
}

// outputs returns the columns of the answer, over the columns of the sources.
func (p *planner) outputs(b *syntax.Block, in *relation) ([]named, error) {
	var outputs []named
	qualified := map[int]string{} // the names of columns of *, with their sources
	for _, out := range b.Outputs {
		if out.Expr != nil {
			e, err := in.scope.resolve(out.Expr)
			if err != nil {
				return nil, err
			}
			outputs = append(outputs, named{out.Name, e})
			continue
		}
		var of *field // the first of them
		for i, f := range in.scope {
			if f.inner || out.Of == nil && f.hidden || out.Of != nil && !syntax.EndsWith(f.source, out.Of, false) {
				continue
			}
			if of == nil {
				of = &in.scope[i]
			}
			if out.Of != nil && !slices.Equal(of.source, f.source) {
				return nil, sql.Errorf(sql.ErrSyntax, b.Pos(), "* of a name that %s and %s have: write the namespace before it", strings.Join(of.source, "."), strings.Join(f.source, "."))
			}
			qualified[len(outputs)] = in.scope.label(f) + "." + f.name
			outputs = append(outputs, named{f.name, columnOf(f.column)})
		}
		if of == nil {
			return nil, sql.Errorf(sql.ErrSyntax, b.Pos(), "* without columns: FROM has no source of this name")
		}
	}
	seen := map[string]int{}
	for _, out := range outputs {
		seen[out.name]++
	}
	for i, name := range qualified {
		if seen[outputs[i].name] > 1 {
			outputs[i].name = name
		}
	}
	for i, out := range outputs {
		if slices.ContainsFunc(outputs[:i], func(o named) bool { return o.name == out.name }) {
			return nil, sql.Errorf(sql.ErrUnsupported, b.Pos(), "two columns of the answer with the name %s: name one of them with AS", out.name)
		}
	}
	return outputs, nil
}

// An orderedBy is an expression of ORDER BY, over the columns of the sources. An output is meant by its name or number.
type orderedBy struct {
	expr   syntax.Expr
	output int // -1 for another expression
}

// orderOf returns the expressions of ORDER BY.
func (p *planner) orderOf(q *syntax.Query, in *relation, outputs []named) (order []orderedBy, err error) {
	for _, key := range q.Order {
		at, err := ordinal(key.Expr, len(outputs), "ORDER BY")
		if err != nil {
			return nil, err
		}
		if at < 0 {
			at = outputOf(key.Expr, outputs)
		}
		if at >= 0 {
			order = append(order, orderedBy{outputs[at].expr, at})
			continue
		}
		e, err := in.scope.resolve(key.Expr)
		if err != nil {
			return nil, err
		}
		order = append(order, orderedBy{e, slices.IndexFunc(outputs, func(o named) bool { return o.expr.String() == e.String() })})
	}
	return order, nil
}

// outputOf returns the output that a name means, or -1.
func outputOf(e syntax.Expr, outputs []named) int {
	c, ok := e.(*syntax.Column)
	if !ok || len(c.Path) != 1 {
		return -1
	}
	return slices.IndexFunc(outputs, func(o named) bool { return o.name == c.Path[0].Text })
}

// ordinal returns the index of the column that a number means, or -1 for other expressions.
func ordinal(e syntax.Expr, columns int, clause string) (int, error) {
	number, ok := e.(*syntax.Number)
	if !ok {
		return -1, nil
	}
	n, err := strconv.Atoi(number.Text)
	if err != nil || n < 1 || n > columns {
		return -1, sql.Errorf(sql.ErrSyntax, e.Pos(), "%s %s: the answer has the columns 1 to %d", clause, number.Text, columns)
	}
	return n - 1, nil
}

// groups groups the rows if the block has GROUP BY or an aggregate function, and makes the outputs and the order
// expressions over the groups.
func (p *planner) groups(b *syntax.Block, in *relation, outputs []named, order []orderedBy) error {
	needed := b.Group != nil || b.Having != nil
	for _, out := range outputs {
		needed = needed || hasAggregates(out.expr)
	}
	for _, key := range order {
		needed = needed || hasAggregates(key.expr)
	}
	if !needed {
		return nil
	}
	a := &aggregation{p: p}
	for _, key := range b.Group {
		e, err := p.groupKey(key, in, outputs)
		if err != nil {
			return err
		}
		a.key(e)
	}
	var having syntax.Expr
	var err error
	if b.Having != nil {
		if having, err = p.having(b.Having, in, outputs); err != nil {
			return err
		}
		if having, err = a.over(having); err != nil {
			return err
		}
	}
	for i := range outputs {
		if outputs[i].expr, err = a.over(outputs[i].expr); err != nil {
			return err
		}
	}
	for i := range order {
		if order[i].expr, err = a.over(order[i].expr); err != nil {
			return err
		}
	}
	if in.step, err = a.step(in.step); err != nil {
		return err
	}
	for _, part := range syntax.Conjuncts(having) {
		if in.step, err = p.keep(in.step, part); err != nil {
			return err
		}
	}
	return nil
}

// groupKey returns an expression of GROUP BY, which may be a column of the sources, or the name or the number of an output.
func (p *planner) groupKey(key syntax.Expr, in *relation, outputs []named) (syntax.Expr, error) {
	at, err := ordinal(key, len(outputs), "GROUP BY")
	if err != nil {
		return nil, err
	}
	e, err := in.scope.resolve(key)
	if at < 0 && err != nil {
		at = outputOf(key, outputs)
	}
	if at < 0 {
		return e, err
	}
	if hasAggregates(outputs[at].expr) {
		return nil, sql.Errorf(sql.ErrSyntax, key.Pos(), "GROUP BY %s, which has an aggregate function", key)
	}
	return outputs[at].expr, nil
}

// having resolves the condition of groups, which may name outputs.
func (p *planner) having(e syntax.Expr, in *relation, outputs []named) (syntax.Expr, error) {
	e, err := syntax.Rewrite(e, func(e syntax.Expr) (syntax.Expr, error) {
		switch e := e.(type) {
		case *syntax.Scalar, *syntax.Exists, *syntax.InQuery:
			return in.scope.resolve(e) // refuses them
		case *syntax.Column:
			if _, _, err := in.scope.find(e); err != nil {
				if at := outputOf(e, outputs); at >= 0 {
					return outputs[at].expr, nil
				}
				return nil, err
			}
			return in.scope.resolve(e)
		}
		return nil, nil //nolint:nilnil // look inside
	})
	return e, err
}

// finish computes the outputs, and orders and limits the rows.
func (p *planner) finish(q *syntax.Query, b *syntax.Block, in *relation, outputs []named, order []orderedBy) (*relation, error) {
	r := &relation{}
	var columns []named
	for _, out := range outputs {
		name := p.unique(out.name)
		columns = append(columns, named{name, out.expr})
		r.scope = append(r.scope, field{name: out.name, column: name})
	}
	keys := make([]sortKey, len(order))
	for i, key := range order {
		keys[i] = sortKey{"", q.Order[i].Descending, q.Order[i].NullsFirst}
		if key.output >= 0 {
			keys[i].column = columns[key.output].name
			continue
		}
		if b.Distinct {
			return nil, sql.Errorf(sql.ErrUnsupported, q.Order[i].Expr.Pos(), "ORDER BY %s, which is no column of SELECT DISTINCT", q.Order[i].Expr)
		}
		keys[i].column = p.unique("order." + strconv.Itoa(i))
		columns = append(columns, named{keys[i].column, key.expr})
	}
	var err error
	if r.step, err = p.project(in.step, columns); err != nil {
		return nil, err
	}
	if b.Distinct {
		if err := p.distinct(r); err != nil {
			return nil, err
		}
		for i, key := range order {
			keys[i].column = r.scope[key.output].column
		}
	}
	if err := p.sort(r, keys, q); err != nil {
		return nil, err
	}
	if len(columns) > len(outputs) {
		r.step, err = p.project(r.step, plainColumns(r.scope))
	}
	return r, err
}

// plainColumns returns the columns of a scope.
func plainColumns(s scope) []named {
	columns := make([]named, len(s))
	for i, f := range s {
		columns[i] = named{f.column, columnOf(f.column)}
	}
	return columns
}

// distinct keeps one of equal rows.
func (p *planner) distinct(r *relation) error {
	a := &aggregation{p: p}
	for i, f := range r.scope {
		a.key(columnOf(f.column))
		r.scope[i].column = a.keys[i].name
	}
	g, err := a.step(r.step)
	r.step = g
	return err
}

// answered plans a block over one table that the table answers with its order and limit, such as a search.
func (p *planner) answered(q *syntax.Query, b *syntax.Block) (*relation, error) {
	t, ok := b.From.(*syntax.Table)
	if !ok || p.common(t) != nil || q.Limit == nil && q.Offset == nil {
		return nil, nil //nolint:nilnil // not answered
	}
	bare := Simple(q)
	if bare == nil {
		return nil, nil //nolint:nilnil // not answered
	}
	if table, err := p.tables.Open(p.ctx, bare.Body.(*syntax.Block).From.(*syntax.Table)); err != nil {
		return nil, err
	} else if _, ok := table.(Selecting); ok {
		return nil, nil //nolint:nilnil // not answered
	}
	s, err := p.scan(t, bare, func(column string) string { return column })
	if err != nil {
		return nil, err
	}
	r := &relation{step: s}
	for i, f := range s.stored.Fields() {
		r.scope = append(r.scope, field{name: f.Name, column: s.columns[i]})
	}
	return r, nil
}
