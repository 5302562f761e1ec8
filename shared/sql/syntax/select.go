package syntax

import (
	"strconv"

	"tiltyard/shared/sql"
)

// A Select is a parsed query:
//
//	SELECT column, expr AS name, … | *
//	FROM [namespace.]table [, UNNEST(column) AS name | , function(argument, …) AS name]
//	[WHERE condition]
//	[GROUP BY expr, …]
//	[LIMIT n]
type Select struct {
	Items []Item   // nil for *
	From  []Name   // the parts of the name of the table
	Each  *Each    // expands the rows of the table; nil if absent
	Where string   // spelled; "" without condition
	Group []string // expressions of GROUP BY, spelled; nil without
	Limit *uint64  // nil without limit
}

// An Item is a column of the answer.
type Item struct {
	Name string // of the column in the answer
	Expr string // spelled
}

// ParseSelect parses a query within the default limits. In contrast to Parse, double quotes delimit names.
// Expressions get the spelling that native LanceDB stores. Errors wrap sql.ErrSyntax, sql.ErrUnsupported or
// sql.ErrTooLarge.
func ParseSelect(src string) (*Select, error) {
	p, err := queryParser(src)
	if err != nil {
		return nil, err
	}
	s, err := p.selectQuery()
	if err != nil {
		return nil, err
	}
	for p.takeOp(";") {
	}
	if t := p.peek(); t.kind != tokEOF {
		return nil, unsupportedClause(t)
	}
	return s, nil
}

// Spell returns an expression in the spelling that native LanceDB stores in a query. In contrast to Parse,
// double quotes delimit names. Its errors are the same as those of Parse.
func Spell(src string) (string, error) {
	p, err := queryParser(src)
	if err != nil {
		return "", err
	}
	if _, err := p.whole(); err != nil {
		return "", err
	}
	return spell(p.tokens[:p.next])
}

// queryParser returns a parser for a text in which double quotes delimit names. It drops unnecessary
// quotes, as the stored text has none.
func queryParser(src string) (*parser, error) {
	p, err := Limits{}.parser(lexer{src: src, names: true})
	if err != nil {
		return nil, err
	}
	p.aggregates = true
	for i, t := range p.tokens {
		if t.kind == tokQuoted && IsBare(t.text) {
			p.tokens[i].kind = tokWord
		}
	}
	return p, nil
}

// selectQuery parses the clauses of a query in their fixed order.
func (p *parser) selectQuery() (*Select, error) {
	if err := p.expectWord("SELECT"); err != nil {
		return nil, err
	}
	var s Select
	var err error
	if s.Items, err = p.items(); err != nil {
		return nil, err
	}
	if err = p.expectWord("FROM"); err != nil {
		return nil, err
	}
	if s.From, err = p.from(); err != nil {
		return nil, err
	}
	if s.Each, err = p.each(); err != nil {
		return nil, err
	}
	if p.takeWords("WHERE") {
		if s.Where, _, err = p.spelled(); err != nil {
			return nil, err
		}
	}
	if p.takeWords("GROUP", "BY") {
		if err := p.group(&s); err != nil {
			return nil, err
		}
	}
	if p.takeWords("LIMIT") {
		s.Limit, err = p.limit()
	}
	return &s, err
}

// group parses the expressions of GROUP BY. It refuses clauses that count source rows, such as LIMIT.
func (p *parser) group(s *Select) error {
	pos := p.peek().pos
	switch next := p.peekAt(1); p.peek().keyword() {
	case "ALL":
		return sql.Errorf(sql.ErrUnsupported, pos, "GROUP BY ALL (list the expressions)")
	case "ROLLUP", "CUBE", "GROUPING":
		if next.isOp("(") || next.keyword() == "SETS" {
			return sql.Errorf(sql.ErrUnsupported, pos, "GROUP BY %s (list the expressions)", p.peek().text)
		}
	}
	for {
		text, _, err := p.spelled()
		if err != nil {
			return err
		}
		if s.Group = append(s.Group, text); !p.takeOp(",") {
			break
		}
	}
	switch {
	case s.Items == nil:
		return sql.Errorf(sql.ErrUnsupported, pos, "* with GROUP BY (select its expressions and aggregates)")
	case s.Each != nil:
		return sql.Errorf(sql.ErrUnsupported, pos, "GROUP BY with UNNEST or a function in FROM (group in one view, and expand in a view over it)")
	case p.peek().keyword() == "LIMIT":
		return sql.Errorf(sql.ErrUnsupported, p.peek().pos, "LIMIT with GROUP BY")
	}
	return nil
}

// items reads the columns between SELECT and FROM.
func (p *parser) items() ([]Item, error) {
	if p.takeOp("*") {
		if p.peek().isOp(",") {
			return nil, sql.Errorf(sql.ErrUnsupported, p.peek().pos, "other columns beside *")
		}
		return nil, nil
	}
	var items []Item
	for {
		item, err := p.item()
		if err != nil {
			return nil, err
		}
		items = append(items, item)
		if !p.takeOp(",") || p.peek().keyword() == "FROM" {
			return items, nil
		}
	}
}

// item reads a column or an expression with its name.
func (p *parser) item() (Item, error) {
	t := p.peek()
	switch t.keyword() {
	case "DISTINCT", "ALL", "TOP", "FROM":
		return Item{}, unsupportedClause(t)
	}
	if t.isOp("*") {
		return Item{}, sql.Errorf(sql.ErrUnsupported, t.pos, "* beside other columns")
	}
	text, e, err := p.spelled()
	if err != nil {
		return Item{}, err
	}
	if p.takeWords("AS") || p.peek().kind == tokQuoted || p.peek().kind == tokWord && IsBare(p.peek().text) {
		name, err := p.name("the name of a column")
		return Item{Name: name.Text, Expr: text}, err
	}
	c, ok := e.(*Column)
	if !ok || t.isOp("(") {
		return Item{}, sql.Errorf(sql.ErrUnsupported, t.pos, "expression %s without a name (write %s AS name)", text, text)
	}
	return Item{Name: c.Path[len(c.Path)-1].Text, Expr: text}, nil
}

// spelled reads an expression and returns its text, too.
func (p *parser) spelled() (string, Expr, error) {
	first := p.next
	e, err := p.expr(precNone)
	if err != nil {
		return "", nil, err
	}
	text, err := spell(p.tokens[first:p.next])
	return text, e, err
}

// name parses a name. An unquoted name that would need quotes is refused, so that each name has one
// spelling.
func (p *parser) name(what string) (Name, error) {
	t := p.peek()
	switch {
	case t.kind == tokQuoted:
	case t.kind != tokWord:
		return Name{}, p.unexpected(what)
	case !IsBare(t.text):
		return Name{}, sql.Errorf(sql.ErrUnsupported, t.pos, "%s as %s without quotes (write \"%s\")", t.text, what, t.text)
	}
	p.next++
	return Name{Text: t.text, Quoted: t.kind == tokQuoted}, nil
}

// limit reads a number of rows.
func (p *parser) limit() (*uint64, error) {
	if p.takeWords("ALL") {
		return nil, nil
	}
	t := p.take()
	n, err := strconv.ParseUint(t.text, 10, 64)
	if t.kind != tokNumber || t.role == long || err != nil || strconv.FormatUint(n, 10) != t.text {
		return nil, sql.Errorf(sql.ErrUnsupported, t.pos, "LIMIT %s: it takes a whole number", t.describe())
	}
	return &n, nil
}

// unsupportedClause returns the error for a clause that queries do not support here.
func unsupportedClause(t token) error {
	return sql.Errorf(sql.ErrUnsupported, t.pos, "%s: a query is SELECT columns FROM table [, UNNEST(column) AS name | , function(…) AS name] [WHERE condition] [GROUP BY expr, …] [LIMIT n]", t.describe())
}
