package relation

import (
	"slices"
	"strings"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/syntax"
)

// A pool has what inner joins and WHERE ask for: sources, and conditions that name columns of some of them.
type pool struct {
	parts      []*relation
	conditions []syntax.Expr // over the columns of steps
	in         []*inQuery
}

// An inQuery is a condition by a query: a column of it has, or has not, the value of an expression.
type inQuery struct {
	*syntax.InQuery
	x syntax.Expr // over the columns of steps
}

// from plans the sources of a block and its condition. inner are the queries inside expressions.
func (p *planner) from(b *syntax.Block, inner ...*relation) (*relation, error) {
	all := new(pool)
	if b.From == nil {
		all.parts = append(all.parts, &relation{step: single{}})
	} else if err := p.gather(all, b.From); err != nil {
		return nil, err
	}
	all.parts = append(all.parts, inner...)
	scope := all.scope()
	for _, part := range syntax.Conjuncts(b.Where) {
		in, ok := part.(*syntax.InQuery)
		if !ok {
			condition, err := scope.resolve(part)
			if err != nil {
				return nil, err
			}
			all.conditions = append(all.conditions, condition)
			continue
		}
		x, err := scope.resolve(in.X)
		if err != nil {
			return nil, err
		}
		all.in = append(all.in, &inQuery{in, x})
	}
	r, err := p.connect(all)
	if err != nil {
		return nil, err
	}
	r.scope = scope
	for _, in := range all.in {
		if err := p.member(r, in); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// scope returns the columns of all sources.
func (a *pool) scope() (s scope) {
	for _, part := range a.parts {
		s = append(s, part.scope...)
	}
	return s
}

// gather adds a source. The sides of inner joins become sources of their own, so that the joins can be in any order.
func (p *planner) gather(all *pool, s syntax.Source) error {
	j, ok := s.(*syntax.Join)
	if !ok || j.Kind != syntax.InnerJoin {
		part, err := p.source(s)
		if err != nil {
			return err
		}
		return all.add(part, s)
	}
	sides := new(pool) // what a condition of this join can name
	for _, side := range []syntax.Source{j.L, j.R} {
		if err := p.gather(sides, side); err != nil {
			return err
		}
	}
	conditions, err := p.matches(j, sides)
	if err != nil {
		return err
	}
	for _, part := range sides.parts {
		if err := all.add(part, s); err != nil {
			return err
		}
	}
	all.conditions = append(append(all.conditions, sides.conditions...), conditions...)
	return nil
}

// add adds a source whose name no other has.
func (a *pool) add(part *relation, at syntax.Source) error {
	for _, f := range part.scope {
		for _, other := range a.parts {
			if f.source != nil && slices.ContainsFunc(other.scope, func(o field) bool { return slices.Equal(o.source, f.source) }) {
				return sql.Errorf(sql.ErrSyntax, at.Pos(), "two sources in FROM have the name %s: name one of them with AS", strings.Join(f.source, "."))
			}
		}
	}
	a.parts = append(a.parts, part)
	return nil
}

// matches returns the conditions of a join. A column of USING is then only named once.
func (p *planner) matches(j *syntax.Join, sides *pool) (conditions []syntax.Expr, err error) {
	if j.Using == nil {
		for _, part := range syntax.Conjuncts(j.On) {
			condition, err := sides.scope().resolve(part)
			if err != nil {
				return nil, err
			}
			conditions = append(conditions, condition)
		}
		return conditions, nil
	}
	right := sides.parts[len(sides.parts)-1]
	var left scope
	for _, part := range sides.parts[:len(sides.parts)-1] {
		left = append(left, part.scope...)
	}
	for _, name := range j.Using {
		c := &syntax.Column{Path: []syntax.Name{name}}
		l, _, err := left.find(c)
		if err != nil {
			return nil, sql.At(err, j.Pos())
		}
		r, _, err := right.scope.find(c)
		if err != nil {
			return nil, sql.At(err, j.Pos())
		}
		r.hidden = j.Kind != syntax.RightJoin
		l.hidden = !r.hidden
		conditions = append(conditions, &syntax.Binary{Op: syntax.Eq, L: columnOf(l.column), R: columnOf(r.column)})
	}
	return conditions, nil
}

// source plans a source that is no inner join.
func (p *planner) source(s syntax.Source) (*relation, error) {
	switch s := s.(type) {
	case *syntax.Table:
		if c := p.common(s); c != nil {
			return p.derived(s, c, s.Alias)
		}
		return p.table(s)
	case *syntax.Derived:
		return p.derived(s, &common{query: s.Query, outer: p.with}, s.Alias)
	case *syntax.Join:
		return p.outer(s)
	}
	return nil, sql.Errorf(sql.ErrUnsupported, s.Pos(), "a source of %T", s)
}

// common returns the query of WITH that a name means, or nil.
func (p *planner) common(t *syntax.Table) *common {
	if len(t.Name) > 1 || t.Version != nil || t.Branch != "" || t.Tag != "" {
		return nil
	}
	for c := p.with; c != nil; c = c.outer {
		if c.name == t.Name[0].Text {
			return c
		}
	}
	return nil
}

// table plans a table.
func (p *planner) table(t *syntax.Table) (*relation, error) {
	source := sourceOf(t)
	bare := *t
	bare.Alias = syntax.Alias{}
	s, err := p.scan(&bare, nil, func(column string) string { return source[len(source)-1] + "." + column })
	if err != nil {
		return nil, err
	}
	r := &relation{step: s}
	for i, f := range s.stored.Fields() {
		r.scope = append(r.scope, field{source: source, name: f.Name, column: s.columns[i]})
	}
	return r, renameColumns(r.scope, t.Alias.Columns, t)
}

// sourceOf returns the alias of a table, or its whole name.
func sourceOf(t *syntax.Table) (source []string) {
	if t.Alias.Name != nil {
		return []string{t.Alias.Name.Text}
	}
	for _, part := range t.Name {
		source = append(source, part.Text)
	}
	return source
}

// derived plans a query as a source. It sees the queries of WITH that its definition saw.
func (p *planner) derived(at syntax.Source, c *common, alias syntax.Alias) (*relation, error) {
	with := p.with
	p.with = c.outer
	r, err := p.query(c.query)
	p.with = with
	if err != nil {
		return nil, err
	}
	name := c.name
	if alias.Name != nil {
		name = alias.Name.Text
	}
	var source []string
	if name != "" {
		source = []string{name}
	}
	if err := renameColumns(r.scope, c.columns, at); err != nil {
		return nil, err
	}
	var columns []named
	for i, f := range r.scope {
		column := p.unique(name + "." + f.name)
		columns = append(columns, named{column, columnOf(f.column)})
		r.scope[i] = field{source: source, name: f.name, column: column}
	}
	if r.step, err = p.project(r.step, columns); err != nil {
		return nil, err
	}
	return r, renameColumns(r.scope, alias.Columns, at)
}

// renameColumns gives columns the names of an alias.
func renameColumns(s scope, columns []syntax.Name, at syntax.Source) error {
	if columns == nil {
		return nil
	}
	if len(columns) != len(s) {
		return sql.Errorf(sql.ErrSyntax, at.Pos(), "%d names for %d columns", len(columns), len(s))
	}
	for i, name := range columns {
		s[i].name = name.Text
	}
	return nil
}

// connect joins the sources of a pool. A source follows that is joined to those before it by equal columns, if there is one.
func (p *planner) connect(all *pool) (*relation, error) {
	rest := slices.Clone(all.parts)
	r := rest[0]
	rest = rest[1:]
	conditions := slices.Clone(all.conditions)
	var err error
	take := func(s step) []syntax.Expr { // the conditions that a step can test
		var fit []syntax.Expr
		conditions = slices.DeleteFunc(conditions, func(c syntax.Expr) bool {
			ok := namesIn(c).within(s.schema())
			if ok {
				fit = append(fit, c)
			}
			return ok
		})
		return fit
	}
	for _, part := range all.parts {
		for _, c := range take(part.step) {
			if part.step, err = p.keep(part.step, c); err != nil {
				return nil, err
			}
		}
	}
	for len(rest) > 0 {
		next := slices.IndexFunc(rest, func(part *relation) bool {
			return slices.ContainsFunc(conditions, func(c syntax.Expr) bool { return keyOf(c, r.step.schema(), part.step.schema()) != nil })
		})
		next = max(next, 0)
		part := rest[next]
		rest = slices.Delete(rest, next, next+1)
		j := &join{kind: syntax.InnerJoin, left: r.step, right: part.step}
		conditions = slices.DeleteFunc(conditions, func(c syntax.Expr) bool {
			key := keyOf(c, r.step.schema(), part.step.schema())
			if key != nil {
				j.keys = append(j.keys, *key)
			}
			return key != nil
		})
		r = &relation{}
		if r.step, err = p.join(j); err != nil {
			return nil, err
		}
		for _, c := range take(r.step) {
			if r.step, err = p.keep(r.step, c); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

// outer plans a join that keeps rows without a match, or only rows of the left side.
func (p *planner) outer(s *syntax.Join) (*relation, error) {
	sides := new(pool)
	for _, side := range []syntax.Source{s.L, s.R} {
		r, err := p.from(&syntax.Block{From: side})
		if err != nil {
			return nil, err
		}
		if err := sides.add(r, s); err != nil {
			return nil, err
		}
	}
	conditions, err := p.matches(s, sides)
	if err != nil {
		return nil, err
	}
	l, r := sides.parts[0], sides.parts[1]
	j := &join{kind: s.Kind, left: l.step, right: r.step}
	for _, c := range conditions {
		of := namesIn(c)
		key := keyOf(c, j.left.schema(), j.right.schema())
		switch {
		case key != nil:
			j.keys = append(j.keys, *key)
		case s.Kind != syntax.FullJoin && s.Kind != syntax.RightJoin && of.within(j.right.schema()):
			j.right, err = p.keep(j.right, c)
		case s.Kind == syntax.RightJoin && of.within(j.left.schema()):
			j.left, err = p.keep(j.left, c)
		default:
			j.rest = append(j.rest, c)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(j.keys) == 0 && s.Kind != syntax.LeftSemi && s.Kind != syntax.LeftAnti {
		return nil, sql.Errorf(sql.ErrUnsupported, s.Pos(), "%s JOIN without an equality between both sides (DuckDB and DataFusion run it over the same tables)", s.Kind)
	}
	joined := &relation{scope: sides.scope()}
	if s.Kind == syntax.LeftSemi || s.Kind == syntax.LeftAnti {
		joined.scope = l.scope
	}
	if joined.step, err = p.join(j); err != nil {
		return nil, err
	}
	if s.Kind == syntax.FullJoin && s.Using != nil {
		return joined, p.coalesced(joined, s.Using)
	}
	return joined, nil
}

// coalesced makes the columns of USING of a full join, which either side may have.
func (p *planner) coalesced(r *relation, using []syntax.Name) error {
	var columns []named
	for _, f := range r.step.schema().Fields() {
		columns = append(columns, named{f.Name, columnOf(f.Name)})
	}
	for _, name := range using {
		both := slices.DeleteFunc(slices.Clone(r.scope), func(f field) bool { return f.name != name.Text })
		left, right := both[0], both[len(both)-1]
		made := p.unique(name.Text)
		columns = append(columns, named{made, &syntax.Call{Name: "coalesce", Args: []syntax.Expr{columnOf(left.column), columnOf(right.column)}}})
		for i := range r.scope {
			if f := &r.scope[i]; f.column == left.column {
				f.column = made
			}
		}
	}
	var err error
	r.step, err = p.project(r.step, columns)
	return err
}

// member plans x [NOT] IN (query).
func (p *planner) member(r *relation, in *inQuery) error {
	sub, err := p.query(in.Query)
	if err != nil {
		return correlated(err, func() scope { return r.scope })
	}
	if len(sub.scope) != 1 {
		return sql.Errorf(sql.ErrSyntax, in.Pos(), "the query of IN has %d columns; it has one", len(sub.scope))
	}
	// Its column gets a name that no column of the left side has.
	name := p.unique("in." + sub.scope[0].name)
	right, err := p.project(sub.step, []named{{name, columnOf(sub.scope[0].column)}})
	if err != nil {
		return err
	}
	j := &join{kind: syntax.LeftSemi, left: r.step, right: right, keys: []joinKey{{left: in.x, right: columnOf(name)}}}
	if in.Not {
		j.kind, j.nulls = syntax.LeftAnti, true
	}
	r.step, err = p.join(j)
	return err
}
