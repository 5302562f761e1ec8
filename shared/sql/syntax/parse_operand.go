package syntax

import (
	"strings"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/datetime"
)

// operand reads an operand of infix operators, with the member accesses after it.
func (p *parser) operand() (Expr, error) {
	if err := p.node(p.peek().pos); err != nil {
		return nil, err
	}
	e, err := p.primary()
	if err != nil {
		return nil, err
	}
	for {
		t := p.peek()
		switch {
		case t.isOp("["):
			p.mark(tight)
			p.next++
			if e, err = p.subscript(e, t); err != nil {
				return nil, err
			}
		case p.takeOp("."):
			name := p.take()
			if name.kind != tokWord && name.kind != tokQuoted {
				return nil, sql.Errorf(sql.ErrSyntax, name.pos, "expected the name of a member, found %s", name.describe())
			}
			e = &Member{position: position(t.pos), X: e, Name: name.text}
		default:
			return e, nil
		}
		if err := p.node(t.pos); err != nil {
			return nil, err
		}
	}
}

// subscript reads the name of a member, or the index of an element, in brackets.
func (p *parser) subscript(x Expr, bracket token) (Expr, error) {
	index := p.peek()
	if index.kind != tokString || !p.peekAt(1).isOp("]") {
		at, err := p.expr(precNone)
		if err != nil {
			return nil, err
		}
		if p.peek().isOp(":") {
			return nil, sql.Errorf(sql.ErrUnsupported, bracket.pos, "slices of lists")
		}
		return &Call{position: position(bracket.pos), Name: "array_element", Args: []Expr{x, at}}, p.expectOp("]")
	}
	p.next += 2
	return &Member{position: position(bracket.pos), X: x, Name: index.text}, nil
}

// primary reads an operand without the member accesses after it.
func (p *parser) primary() (Expr, error) {
	t := p.peek()
	pos := position(t.pos)
	switch t.kind {
	case tokNumber:
		p.next++
		return &Number{position: pos, Text: t.text}, nil
	case tokString:
		p.next++
		return &Text{position: pos, Value: t.text}, nil
	case tokHex:
		p.next++
		return &Bytes{position: pos, Digits: t.text}, nil
	case tokParameter:
		return p.parameter()
	case tokQuoted:
		return p.column()
	case tokWord:
		return p.word()
	case tokOp:
		return p.prefixOp()
	}
	return nil, p.unexpected("an expression")
}

// prefixOp reads an operand that begins with an operator or a bracket.
func (p *parser) prefixOp() (Expr, error) {
	t := p.peek()
	pos := position(t.pos)
	switch t.text {
	case "(":
		p.next++
		if w := p.peek().keyword(); w == "SELECT" || w == "WITH" {
			return p.scalar(pos)
		}
		e, err := p.expr(precNone)
		if err != nil {
			return nil, err
		}
		if p.peek().isOp(",") {
			return nil, sql.Errorf(sql.ErrUnsupported, t.pos, "tuples")
		}
		if b, ok := e.(*Binary); ok && (b.Op == And || b.Op == Or) {
			b.Grouped = true
		}
		return e, p.expectOp(")")
	case "-":
		return p.minus()
	case "[":
		p.next++
		elems, err := p.list("]")
		return &Array{position: pos, Elems: elems}, err
	case "+", "~", "!", "?", ":":
		return nil, sql.Errorf(sql.ErrUnsupported, t.pos, "prefix %s", t.text)
	}
	return nil, p.unexpected("an expression")
}

// scalar reads a query as a value, behind its opening parenthesis.
func (p *parser) scalar(pos position) (Expr, error) {
	if !p.queries {
		return nil, sql.Errorf(sql.ErrUnsupported, p.peek().pos, "subqueries")
	}
	q, err := p.query()
	if err != nil {
		return nil, err
	}
	return &Scalar{position: pos, Query: q}, p.expectOp(")")
}

// minus parses a minus sign. Directly before a number it is part of the number.
func (p *parser) minus() (Expr, error) {
	p.mark(prefix)
	pos := position(p.take().pos)
	first := p.next
	x, err := p.expr(precProduct)
	if err != nil {
		return nil, err
	}
	if n, ok := x.(*Number); ok && p.next == first+1 && p.tokens[first].kind == tokNumber {
		return &Number{position: pos, Text: "-" + n.Text}, nil
	}
	return &Unary{position: pos, Op: Neg, X: x}, nil
}

// list reads expressions up to the closing bracket.
func (p *parser) list(closing string) ([]Expr, error) {
	if p.takeOp(closing) {
		return nil, nil
	}
	var list []Expr
	for {
		e, err := p.expr(precNone)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
		if !p.takeOp(",") {
			return list, p.expectOp(closing)
		}
	}
}

// word reads an operand that begins with a bare word: a literal, a keyword with a syntax
// of its own, a call or a column.
func (p *parser) word() (Expr, error) {
	t := p.peek()
	pos := position(t.pos)
	switch kw := t.keyword(); kw {
	case "TRUE", "FALSE":
		p.mark(truth)
		p.next++
		return &Bool{position: pos, Value: kw == "TRUE"}, nil
	case "NULL":
		p.mark(keyword)
		p.next++
		return &Null{pos}, nil
	case "NOT":
		p.mark(keyword)
		p.next++
		x, err := p.expr(precNot)
		if e, ok := x.(*Exists); ok {
			return &Exists{position: pos, Query: e.Query, Not: !e.Not}, err
		}
		return &Unary{position: pos, Op: Not, X: x}, err
	case "EXISTS":
		if p.queries && p.peekAt(1).isOp("(") {
			p.mark(keyword)
			p.next++
			q, err := p.nested()
			return &Exists{position: pos, Query: q}, err
		}
	case "CAST", "TRY_CAST", "SAFE_CAST":
		if p.peekAt(1).isOp("(") {
			return p.cast(kw != "CAST")
		}
	case "CASE":
		if p.beginsOperand(1) {
			return p.caseExpr()
		}
	case "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP":
		if !p.peekAt(1).isOp("(") {
			p.next++
			return &Call{position: pos, Name: strings.ToLower(kw)}, nil
		}
	case "AND", "OR", "IS", "IN", "BETWEEN", "LIKE", "ILIKE":
		return nil, sql.Errorf(sql.ErrSyntax, t.pos, "expected an expression, found %s (write a column of this name in backticks)", kw)
	}
	if e := p.typedText(); e != nil {
		return e, nil
	}
	if err := p.specialForm(); err != nil {
		return nil, err
	}
	if next := p.peekAt(1); t.keyword() == "INTERVAL" &&
		(next.kind == tokString || next.kind == tokNumber || next.isOp("-") && p.peekAt(2).kind == tokNumber) {
		return p.interval()
	}
	if e, err := p.specialCall(); e != nil || err != nil {
		return e, err
	}
	if p.peekAt(1).isOp("(") {
		return p.call()
	}
	return p.column()
}

// beginsOperand reports whether the token n places ahead can only begin an operand, and cannot follow one.
// It distinguishes the keyword CASE from a column of that name.
func (p *parser) beginsOperand(n int) bool {
	t := p.peekAt(n)
	switch t.kind {
	case tokEOF:
		return false
	case tokOp:
		return t.text == "("
	case tokWord:
		switch t.keyword() {
		case "AND", "OR", "IS", "IN", "BETWEEN", "LIKE", "ILIKE", "NOT", "THEN", "ELSE", "END", "AS", "ESCAPE", "FROM", "FOR", "WHERE", "LIMIT":
			return false
		}
	}
	return true
}

// specialForm refuses the parts of SQL that look like calls or columns but have their own
// syntax.
func (p *parser) specialForm() error {
	t := p.peek()
	next := p.peekAt(1)
	switch kw := t.keyword(); kw {
	case "EXISTS", "CONVERT":
		if next.isOp("(") {
			return sql.Errorf(sql.ErrUnsupported, t.pos, "function %s", t.text)
		}
	case "ARRAY", "STRUCT", "MAP":
		if next.isOp("[") || next.isOp("{") {
			return sql.Errorf(sql.ErrUnsupported, t.pos, "%s literals", kw)
		}
	case "LOCALTIME", "LOCALTIMESTAMP":
		return sql.Errorf(sql.ErrUnsupported, t.pos, "function %s", t.text)
	}
	return nil
}

// column parses a path. The schema later determines which names are the column and which are struct
// members.
func (p *parser) column() (Expr, error) {
	c := &Column{position: position(p.peek().pos)}
	for {
		t := p.take()
		if t.kind != tokWord && t.kind != tokQuoted {
			return nil, sql.Errorf(sql.ErrSyntax, t.pos, "expected the name of a column, found %s", t.describe())
		}
		if p.lower && t.kind == tokWord {
			t.text = strings.ToLower(t.text)
		}
		c.Path = append(c.Path, Name{Text: t.text, Quoted: t.kind == tokQuoted})
		if len(c.Path) > 1 {
			if err := p.node(t.pos); err != nil {
				return nil, err
			}
		}
		if !p.takeOp(".") {
			return c, nil
		}
	}
}

// caseExpr reads CASE in both of its forms.
func (p *parser) caseExpr() (Expr, error) {
	p.mark(keyword)
	c := &Case{position: position(p.take().pos)}
	var err error
	if p.peek().keyword() != "WHEN" {
		if c.X, err = p.expr(precNone); err != nil {
			return nil, err
		}
	}
	for p.takeWords("WHEN") {
		var w When
		if w.Cond, err = p.expr(precNone); err != nil {
			return nil, err
		}
		if err = p.expectWord("THEN"); err != nil {
			return nil, err
		}
		if w.Then, err = p.expr(precNone); err != nil {
			return nil, err
		}
		c.Whens = append(c.Whens, w)
	}
	if len(c.Whens) == 0 {
		return nil, p.unexpected("WHEN")
	}
	if p.takeWords("ELSE") {
		if c.Else, err = p.expr(precNone); err != nil {
			return nil, err
		}
	}
	return c, p.expectWord("END")
}

// interval reads the part after INTERVAL: a string, or a number and a unit.
func (p *parser) interval() (Expr, error) {
	p.mark(keyword)
	pos := position(p.take().pos)
	sign := ""
	if p.peek().isOp("-") {
		sign = "-"
		p.mark(prefix)
		p.next++
	}
	value := sign + p.take().text
	if w := p.peek(); w.kind == tokWord {
		if datetime.IsUnit(w.text) {
			p.mark(keyword)
			value += " " + strings.ToLower(p.take().text)
		}
	}
	return &Interval{position: pos, Value: value}, nil
}
