package syntax

import (
	"slices"

	"tiltyard/shared/sql"
)

// query parses a query. Queries in queries count for the limit on nesting.
func (p *parser) query() (*Query, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > p.limits.Depth {
		return nil, sql.Errorf(sql.ErrTooLarge, p.peek().pos, "nested more than %d deep", p.limits.Depth)
	}
	q := new(Query)
	err := p.with(q)
	if err != nil {
		return nil, err
	}
	if q.Body, err = p.body(); err != nil {
		return nil, err
	}
	if p.takeWords("ORDER", "BY") {
		if err = p.orderKeys(q); err != nil {
			return nil, err
		}
	}
	if p.takeWords("LIMIT") && !p.takeWords("ALL") {
		if q.Limit, err = p.count("LIMIT"); err != nil {
			return nil, err
		}
	}
	if p.takeWords("OFFSET") {
		if q.Offset, err = p.count("OFFSET"); err != nil {
			return nil, err
		}
		if w := p.peek().keyword(); w == "ROW" || w == "ROWS" {
			p.next++
		}
	}
	return q, nil
}

// with parses the queries that have names.
func (p *parser) with(q *Query) error {
	if !p.takeWords("WITH") {
		return nil
	}
	if t := p.peek(); t.keyword() == "RECURSIVE" {
		return unsupportedInStatement(t)
	}
	for {
		name, err := p.tableName()
		if err != nil {
			return err
		}
		c := Common{Name: name}
		if c.Columns, err = p.columnNames(); err != nil {
			return err
		}
		if err = p.expectWord("AS"); err != nil {
			return err
		}
		if c.Query, err = p.nested(); err != nil {
			return err
		}
		if q.With = append(q.With, c); !p.takeOp(",") {
			return nil
		}
	}
}

// nested parses a query in parentheses.
func (p *parser) nested() (*Query, error) {
	if err := p.expectOp("("); err != nil {
		return nil, err
	}
	q, err := p.query()
	if err != nil {
		return nil, err
	}
	return q, p.expectOp(")")
}

// beginsQuery reports whether a query comes next.
func (p *parser) beginsQuery() bool {
	switch p.peek().keyword() {
	case "SELECT", "WITH":
		return true
	case "VALUES":
		return p.peekAt(1).isOp("(")
	}
	return false
}

// body parses bodies with UNION and EXCEPT between them.
func (p *parser) body() (Body, error) {
	return p.operation(func() (Body, error) { return p.operation(p.term, Intersect) }, Union, Except)
}

// operation parses operands with some operators between them, which associate to the left.
func (p *parser) operation(operand func() (Body, error), operators ...SetOperator) (Body, error) {
	left, err := operand()
	for err == nil {
		t := p.peek()
		at := slices.IndexFunc(operators, func(op SetOperator) bool { return p.takeWords(string(op)) })
		if at < 0 {
			return left, nil
		}
		o := &SetOperation{position: position(t.pos), Op: operators[at], L: left, All: p.takeWords("ALL")}
		if o.All && o.Op != Union {
			return nil, sql.Errorf(sql.ErrUnsupported, t.pos, "%s ALL (%s has each row once)", o.Op, o.Op)
		}
		if !o.All {
			p.takeWords("DISTINCT")
		}
		if o.R, err = operand(); err == nil {
			err = p.node(t.pos)
		}
		left = o
	}
	return nil, err
}

// term parses a body without operators.
func (p *parser) term() (Body, error) {
	t := p.peek()
	switch {
	case p.takeWords("SELECT"):
		return p.block(position(t.pos))
	case p.takeWords("VALUES"):
		return p.values(position(t.pos))
	case t.isOp("("):
		return p.nested()
	}
	return nil, unsupportedInStatement(t)
}

// values parses the rows behind VALUES.
func (p *parser) values(pos position) (Body, error) {
	v := &Values{position: pos}
	for {
		t := p.peek()
		if err := p.expectOp("("); err != nil {
			return nil, err
		}
		row, err := p.list(")")
		if err != nil {
			return nil, err
		}
		if len(row) == 0 || len(v.Rows) > 0 && len(row) != len(v.Rows[0]) {
			return nil, sql.Errorf(sql.ErrSyntax, t.pos, "row %d of VALUES has %d columns; all rows have the same number, at least one", len(v.Rows)+1, len(row))
		}
		if v.Rows = append(v.Rows, row); !p.takeOp(",") {
			return v, nil
		}
	}
}

// block parses the clauses after SELECT in their fixed order.
func (p *parser) block(pos position) (Body, error) {
	b := &Block{position: pos}
	b.Distinct = p.takeWords("DISTINCT")
	if b.Distinct && p.peek().keyword() == "ON" {
		return nil, sql.Errorf(sql.ErrUnsupported, p.peek().pos, "DISTINCT ON")
	}
	if !b.Distinct {
		p.takeWords("ALL")
	}
	err := p.outputs(b)
	if err != nil {
		return nil, err
	}
	if p.takeWords("FROM") {
		if b.From, err = p.sources(); err != nil {
			return nil, err
		}
	}
	if p.takeWords("WHERE") {
		if b.Where, err = p.expr(precNone); err != nil {
			return nil, err
		}
	}
	if p.takeWords("GROUP", "BY") {
		if b.Group, err = p.groupKeys(); err != nil {
			return nil, err
		}
	}
	if p.takeWords("HAVING") {
		b.Having, err = p.expr(precNone)
	}
	return b, err
}

// groupKeys parses the expressions of GROUP BY.
func (p *parser) groupKeys() ([]Expr, error) {
	switch t := p.peek(); t.keyword() {
	case "ALL":
		return nil, sql.Errorf(sql.ErrUnsupported, t.pos, "GROUP BY ALL (list the expressions)")
	case "ROLLUP", "CUBE", "GROUPING":
		if next := p.peekAt(1); next.isOp("(") || next.keyword() == "SETS" {
			return nil, unsupportedInStatement(t)
		}
	}
	var keys []Expr
	for {
		e, err := p.expr(precNone)
		if err != nil {
			return nil, err
		}
		if keys = append(keys, e); !p.takeOp(",") {
			return keys, nil
		}
	}
}

// outputs parses the columns after SELECT.
func (p *parser) outputs(b *Block) error {
	for {
		out, err := p.output()
		if err != nil {
			return err
		}
		if b.Outputs = append(b.Outputs, out); !p.takeOp(",") {
			return nil
		}
	}
}

// output parses a column, * or source.*.
func (p *parser) output() (Output, error) {
	t := p.peek()
	switch w := t.keyword(); {
	case p.takeOp("*"):
		return Output{}, p.wholeRows()
	case w == "TOP" || w == "FROM":
		return Output{}, unsupportedInStatement(t)
	}
	if of := p.wholeSource(); of != nil {
		return Output{Of: of}, p.wholeRows()
	}
	first := p.next
	e, err := p.expr(precNone)
	if err != nil {
		return Output{}, err
	}
	out := Output{Expr: e}
	switch c, ok := e.(*Column); {
	case p.takeWords("AS") || p.beginsAlias():
		name, err := p.aliasName("the name of a column")
		out.Name = name.Text
		return out, err
	case ok && !t.isOp("("):
		out.Name = c.Path[len(c.Path)-1].Text
		return out, nil
	}
	if p.peek().keyword() == "OVER" {
		return out, unsupportedInStatement(p.peek())
	}
	if out.Name, err = spell(p.tokens[first:p.next]); err != nil {
		out.Name, err = e.String(), nil
	}
	return out, err
}

// wholeSource reads source.*, and returns the name of the source, or nil if something else comes next.
func (p *parser) wholeSource() (of []Name) {
	for n := 0; ; n += 2 {
		t := p.peekAt(n)
		switch {
		case t.isOp("*") && n > 0:
			p.next += n + 1
			return of
		case t.kind != tokWord && t.kind != tokQuoted || !p.peekAt(n+1).isOp("."):
			return nil
		}
		of = append(of, Name{Text: t.text, Quoted: t.kind == tokQuoted})
	}
}

// wholeRows refuses what may follow * in other engines.
func (p *parser) wholeRows() error {
	switch t := p.peek(); t.keyword() {
	case "EXCEPT", "EXCLUDE", "REPLACE", "RENAME", "ILIKE":
		return sql.Errorf(sql.ErrUnsupported, t.pos, "* %s (list the columns)", t.keyword())
	}
	return nil
}

// orderKeys reads the expressions of ORDER BY.
func (p *parser) orderKeys(q *Query) error {
	for {
		e, err := p.expr(precNone)
		if err != nil {
			return err
		}
		key := OrderKey{Expr: e}
		if !p.takeWords("ASC") {
			key.Descending = p.takeWords("DESC")
		}
		switch key.NullsFirst = key.Descending; {
		case p.takeWords("NULLS", "FIRST"):
			key.NullsFirst = true
		case p.takeWords("NULLS", "LAST"):
			key.NullsFirst = false
		}
		if q.Order = append(q.Order, key); !p.takeOp(",") {
			return nil
		}
	}
}
