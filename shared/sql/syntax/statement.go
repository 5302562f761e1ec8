package syntax

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"tiltyard/shared/sql"
)

// A Statement is a parsed statement over one table:
//
//	[EXPLAIN [ANALYZE]]
//	SELECT expr [AS name], … | *
//	FROM [namespace.]table [VERSION AS OF number] [BRANCH 'name']
//	[WHERE condition]
//	[ORDER BY expr [ASC | DESC] [NULLS FIRST | NULLS LAST], …]
//	[LIMIT n] [OFFSET n]
//
// A parameter, $name, may stand in place of any literal.
type Statement struct {
	Explain, Analyze bool // the answer is the plan, and with Analyze what was measured, not the rows

	Outputs       []Output // nil for *
	From          []Name   // the parts of the name of the table
	Version       *int64   // nil: the latest
	Branch        string   // "" for main
	Where         Expr     // nil without condition
	Order         []OrderKey
	Limit, Offset *int64 // nil without
}

// An Output is a column of the answer.
type Output struct {
	Name string // without AS: the last name of a path, or the text of another expression
	Expr Expr
}

// An OrderKey is an expression of ORDER BY. Without NULLS FIRST or NULLS LAST, nulls count as larger than all values.
//
// Source: datafusion-sql 54, order_by.rs.
type OrderKey struct {
	Expr                   Expr
	Descending, NullsFirst bool
}

// ParseStatement parses a statement within the default limits, and puts the values of parameters, which are literals
// or lists of literals, in their places. Double quotes delimit names. A parameter without a value, or a value
// without a parameter, is an error. Errors wrap sql.ErrSyntax, sql.ErrUnsupported or sql.ErrTooLarge.
func ParseStatement(src string, parameters map[string]Expr) (*Statement, error) {
	return parseStatement(src, parameters, false)
}

// DescribeStatement parses a statement as ParseStatement does, for its columns only. Parameters without a value are
// null, also where null is otherwise refused.
func DescribeStatement(src string, parameters map[string]Expr) (*Statement, error) {
	return parseStatement(src, parameters, true)
}

func parseStatement(src string, parameters map[string]Expr, open bool) (*Statement, error) {
	p, err := Limits{}.parser(lexer{src: src, names: true})
	if err != nil {
		return nil, err
	}
	p.aggregates, p.parameters, p.used, p.open = true, parameters, map[string]bool{}, open
	s, err := p.statement()
	if err != nil {
		return nil, err
	}
	for p.takeOp(";") {
	}
	if t := p.peek(); t.kind != tokEOF {
		return nil, unsupportedInStatement(t)
	}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		if !p.used[name] {
			return nil, sql.Errorf(sql.ErrSyntax, sql.NoPos, "the statement has no parameter $%s", name)
		}
	}
	return s, nil
}

// parameter reads $name, and returns its value.
func (p *parser) parameter() (Expr, error) {
	t := p.take()
	if p.used == nil {
		return nil, sql.Errorf(sql.ErrUnsupported, t.pos, "parameter $%s in a query that is stored", t.text)
	}
	value, ok := p.parameters[t.text]
	if !ok && p.open {
		return new(Null), nil
	}
	if !ok {
		return nil, sql.Errorf(sql.ErrSyntax, t.pos, "parameter $%s has no value", t.text)
	}
	p.used[t.text] = true
	return value, nil
}

// statement parses the clauses of a statement in their fixed order.
func (p *parser) statement() (*Statement, error) {
	s := new(Statement)
	if p.takeWords("EXPLAIN") {
		s.Explain, s.Analyze = true, p.takeWords("ANALYZE")
	}
	if !p.takeWords("SELECT") {
		return nil, unsupportedInStatement(p.peek())
	}
	err := p.outputs(s)
	if err != nil {
		return nil, err
	}
	if err = p.expectWord("FROM"); err != nil {
		return nil, err
	}
	if err = p.fromVersion(s); err != nil {
		return nil, err
	}
	if p.takeWords("WHERE") {
		if s.Where, err = p.expr(precNone); err != nil {
			return nil, err
		}
	}
	if p.takeWords("ORDER", "BY") {
		if err = p.orderKeys(s); err != nil {
			return nil, err
		}
	}
	if p.takeWords("LIMIT") && !p.takeWords("ALL") {
		if s.Limit, err = p.count("LIMIT"); err != nil {
			return nil, err
		}
	}
	if p.takeWords("OFFSET") {
		s.Offset, err = p.count("OFFSET")
	}
	return s, err
}

// outputs reads the columns between SELECT and FROM.
func (p *parser) outputs(s *Statement) error {
	if p.takeOp("*") {
		if p.peek().isOp(",") {
			return sql.Errorf(sql.ErrUnsupported, p.peek().pos, "other columns beside *")
		}
		return nil
	}
	for {
		t := p.peek()
		switch w := t.keyword(); {
		case w == "DISTINCT" || w == "ALL" || w == "TOP" || w == "FROM":
			return unsupportedInStatement(t)
		case t.isOp("*"):
			return sql.Errorf(sql.ErrUnsupported, t.pos, "* beside other columns")
		}
		text, e, err := p.spelled()
		if err != nil {
			return err
		}
		out := Output{Name: text, Expr: e}
		if c, ok := e.(*Column); ok && !t.isOp("(") {
			out.Name = c.Path[len(c.Path)-1].Text
		}
		if p.takeWords("AS") || p.peek().kind == tokQuoted || p.peek().kind == tokWord && IsBare(p.peek().text) {
			name, err := p.name("the name of a column")
			if err != nil {
				return err
			}
			out.Name = name.Text
		}
		if s.Outputs = append(s.Outputs, out); !p.takeOp(",") {
			return nil
		}
	}
}

// fromVersion reads the name of the table, and which version of it is meant.
func (p *parser) fromVersion(s *Statement) (err error) {
	for more := true; more; more = p.takeOp(".") {
		name, err := p.tableName()
		if err != nil {
			return err
		}
		s.From = append(s.From, name)
	}
	if p.takeWords("VERSION", "AS", "OF") {
		if s.Version, err = p.count("VERSION AS OF"); err != nil {
			return err
		}
	}
	if p.peek().keyword() == "BRANCH" && p.peekAt(1).kind == tokString {
		p.next++
		s.Branch = p.take().text
	}
	return p.noAlias()
}

// tableName reads a part of the name of a table. Without quotes it has no upper-case letters, which other engines would
// read as lower-case ones.
func (p *parser) tableName() (Name, error) {
	t := p.peek()
	switch {
	case t.isOp("("):
		return Name{}, sql.Errorf(sql.ErrUnsupported, t.pos, "subqueries")
	case t.kind != tokWord && t.kind != tokQuoted:
		return Name{}, p.unexpected("the name of a table")
	case t.kind == tokWord && !isPlain(t.text):
		return Name{}, sql.Errorf(sql.ErrUnsupported, t.pos, "%s as the name of a table without quotes (write \"%s\")", t.text, t.text)
	}
	p.next++
	return Name{Text: t.text, Quoted: t.kind == tokQuoted}, nil
}

// isPlain reports whether a name has only the letters a-z, digits and _, and does not begin with a digit.
func isPlain(name string) bool {
	for i := range len(name) {
		if c := name[i]; c != '_' && !('a' <= c && c <= 'z') && !(i > 0 && isDigit(c)) {
			return false
		}
	}
	return name != ""
}

// TableName returns the name of a table as it is written in a statement.
func TableName(id []string) string {
	parts := slices.Clone(id)
	for i, part := range parts {
		if !isPlain(part) {
			parts[i] = quote(part, '"')
		}
	}
	return strings.Join(parts, ".")
}

// orderKeys reads the expressions of ORDER BY.
func (p *parser) orderKeys(s *Statement) error {
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
		if s.Order = append(s.Order, key); !p.takeOp(",") {
			return nil
		}
	}
}

// count reads a whole number after a clause, or a parameter with one.
func (p *parser) count(clause string) (*int64, error) {
	t := p.peek()
	e, err := p.primary()
	if err != nil {
		return nil, err
	}
	number, ok := e.(*Number)
	if ok && t.role != long {
		if n, err := strconv.ParseInt(number.Text, 10, 64); err == nil && n >= 0 {
			return &n, nil
		}
	}
	if _, ok := e.(*Null); ok && p.open && t.kind == tokParameter {
		return new(int64(1)), nil
	}
	return nil, sql.Errorf(sql.ErrUnsupported, t.pos, "%s %s: it takes a whole number", clause, e)
}

// unsupportedInStatement returns the error for a clause that statements do not support here. Other engines read the same
// tables.
func unsupportedInStatement(t token) error {
	return sql.Errorf(sql.ErrUnsupported, t.pos, "%s: a statement is [EXPLAIN [ANALYZE]] SELECT columns FROM table [VERSION AS OF n] [BRANCH 'name'] [WHERE condition] [ORDER BY …] [LIMIT n] [OFFSET n]; "+
		"for joins, groups and subqueries open the table in DuckDB or DataFusion", t.describe())
}
