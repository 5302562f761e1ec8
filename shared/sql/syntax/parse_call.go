package syntax

import (
	"strings"

	"tiltyard/shared/sql"
)

// call parses a function call. It refuses OVER clauses, and clauses of aggregate functions where aggregates
// are not allowed.
func (p *parser) call() (Expr, error) {
	name := p.next
	t := p.take()
	p.next++ // (
	c := &Call{position: position(t.pos), Name: t.text}
	if p.lower {
		c.Name = strings.ToLower(c.Name)
	}
	if err := p.callArguments(c); err != nil {
		return nil, err
	}
	switch w := p.peek().keyword(); {
	case w == "FILTER" && p.aggregates:
		if err := p.filter(c); err != nil {
			return nil, err
		}
	case w == "OVER" || w == "FILTER" || w == "WITHIN":
		return nil, sql.Errorf(sql.ErrUnsupported, p.peek().pos, "%s after a function call", w)
	}
	if hasForm(t, c.Args) {
		p.tokens[name].role = form
	}
	return c, nil
}

// callArguments reads the arguments of a call, up to the closing bracket.
func (p *parser) callArguments(c *Call) (err error) {
	switch w := p.peek().keyword(); {
	case p.aggregates && (w == "DISTINCT" || w == "ALL"):
		p.mark(keyword)
		p.next++
		c.Distinct = w == "DISTINCT"
	case w == "DISTINCT" || w == "ALL" || w == "SELECT":
		return sql.Errorf(sql.ErrUnsupported, p.peek().pos, "%s in the arguments of %s", w, c.Name)
	}
	if p.peek().isOp("*") && p.peekAt(1).isOp(")") && !c.Distinct {
		if !p.aggregates {
			return sql.Errorf(sql.ErrUnsupported, p.peek().pos, "%s(*) other than in a column of a query with GROUP BY", c.Name)
		}
		p.next += 2
		c.Star = true
		return nil
	}
	c.Args, err = p.list(")")
	if w := p.peek().keyword(); err != nil && (w == "ORDER" || w == "IGNORE" || w == "RESPECT") {
		return sql.Errorf(sql.ErrUnsupported, p.peek().pos, "%s in the arguments of %s", w, c.Name)
	}
	return err
}

// filter reads FILTER (WHERE condition).
func (p *parser) filter(c *Call) (err error) {
	p.mark(keyword)
	p.next++
	if err = p.expectOp("("); err != nil {
		return err
	}
	if err = p.expectWord("WHERE"); err != nil {
		return err
	}
	if c.Filter, err = p.expr(precNone); err != nil {
		return err
	}
	return p.expectOp(")")
}

// hasForm reports whether sqlparser has a syntax of its own for a function. For CEIL and FLOOR, the second
// argument must then be a number.
func hasForm(name token, args []Expr) bool {
	switch name.keyword() {
	case "STRUCT":
		return true
	case "CEIL", "FLOOR":
		if len(args) == 2 {
			n, ok := args[1].(*Number)
			return ok && !strings.HasPrefix(n.Text, "-")
		}
		return len(args) == 1
	}
	return false
}
