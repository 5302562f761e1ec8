package syntax

import (
	"slices"
	"strings"

	"tiltyard/shared/sql"
)

// sources parses what is between FROM and the next clause. A comma joins all rows of both sides.
func (p *parser) sources() (Source, error) {
	left, err := p.joined()
	for err == nil && p.peek().isOp(",") {
		j := &Join{position: position(p.take().pos), Kind: InnerJoin, L: left}
		j.R, err = p.joined()
		left = j
	}
	return left, err
}

// joined parses sources with JOIN between them, which associates to the left.
func (p *parser) joined() (Source, error) {
	left, err := p.source()
	for err == nil {
		t := p.peek()
		kind, cross, ok := p.joinKind()
		if !ok {
			return left, nil
		}
		if err = p.expectWord("JOIN"); err != nil {
			break
		}
		j := &Join{position: position(t.pos), Kind: kind, L: left}
		if j.R, err = p.source(); err != nil {
			break
		}
		if !cross {
			err = p.joinCondition(j)
		}
		if err == nil {
			err = p.node(t.pos)
		}
		left = j
	}
	return left, err
}

// joinKind reads the words before JOIN. cross means that no condition follows.
func (p *parser) joinKind() (kind JoinKind, cross, ok bool) {
	switch {
	case p.peek().keyword() == "JOIN", p.takeWords("INNER"):
		return InnerJoin, false, true
	case p.takeWords("CROSS"):
		return InnerJoin, true, true
	case p.takeWords("LEFT", "SEMI"):
		return LeftSemi, false, true
	case p.takeWords("LEFT", "ANTI"):
		return LeftAnti, false, true
	}
	for _, kind := range []JoinKind{LeftJoin, RightJoin, FullJoin} {
		if p.takeWords(string(kind)) {
			p.takeWords("OUTER")
			return kind, false, true
		}
	}
	return "", false, false
}

// joinCondition reads ON or USING.
func (p *parser) joinCondition(j *Join) (err error) {
	switch t := p.peek(); {
	case p.takeWords("ON"):
		j.On, err = p.expr(precNone)
	case p.takeWords("USING"):
		j.Using, err = p.columnNames()
		if err == nil && j.Using == nil {
			err = p.unexpected("the columns of USING in parentheses")
		}
	default:
		err = sql.Errorf(sql.ErrSyntax, t.pos, "expected ON or USING, found %s (CROSS JOIN has no condition)", t.describe())
	}
	return err
}

// source parses a table, or a query in parentheses.
func (p *parser) source() (Source, error) {
	t := p.peek()
	if t.isOp("(") {
		p.next++
		if !p.beginsQuery() && !p.peek().isOp("(") { // a join in parentheses
			inner, err := p.sources()
			if err != nil {
				return nil, err
			}
			return inner, p.expectOp(")")
		}
		p.next--
		d := &Derived{position: position(t.pos)}
		var err error
		if d.Query, err = p.nested(); err != nil {
			return nil, err
		}
		d.Alias, err = p.alias()
		return d, err
	}
	return p.table()
}

// table parses the name of a table, and which version of it is meant.
func (p *parser) table() (_ Source, err error) {
	t := &Table{position: position(p.peek().pos)}
	switch first := p.peek(); first.keyword() {
	case "LATERAL", "UNNEST":
		if first.kind == tokWord {
			return nil, sql.Errorf(sql.ErrUnsupported, first.pos, "%s in FROM", first.keyword())
		}
	}
	for more := true; more; more = p.takeOp(".") {
		name, err := p.tableName()
		if err != nil {
			return nil, err
		}
		t.Name = append(t.Name, name)
	}
	if next := p.peek(); next.isOp("(") {
		return nil, sql.Errorf(sql.ErrUnsupported, next.pos, "functions in FROM")
	}
	if p.takeWords("VERSION", "AS", "OF") {
		if t.Version, err = p.count("VERSION AS OF"); err != nil {
			return nil, err
		}
	}
	t.Branch, _ = p.textAfter("BRANCH")
	at, tagged := p.peek().pos, false
	switch t.Tag, tagged = p.textAfter("TAG"); {
	case tagged && (t.Version != nil || t.Branch != ""):
		return nil, sql.Errorf(sql.ErrSyntax, at, "TAG with VERSION AS OF or BRANCH: a tag names the version of a branch")
	case tagged && t.Tag == "":
		return nil, sql.Errorf(sql.ErrSyntax, at, "TAG '': the name of a tag has at least one letter")
	}
	t.Alias, err = p.alias()
	return t, err
}

// textAfter reads a word and a text behind it, if both come next.
func (p *parser) textAfter(word string) (text string, ok bool) {
	if p.peek().keyword() != word || p.peekAt(1).kind != tokString {
		return "", false
	}
	p.next++
	return p.take().text, true
}

// tableName reads a part of the name of a table. Without quotes it has no upper-case letters, which other engines would
// read as lower-case ones.
func (p *parser) tableName() (Name, error) {
	t := p.peek()
	switch {
	case t.kind != tokWord && t.kind != tokQuoted:
		return Name{}, p.unexpected("the name of a table")
	case t.kind == tokWord && !isPlain(t.text):
		return Name{}, sql.Errorf(sql.ErrUnsupported, t.pos, "%s as the name of a table without quotes (write \"%s\")", t.text, t.text)
	}
	p.next++
	return Name{Text: t.text, Quoted: t.kind == tokQuoted}, nil
}

// alias reads the name that may follow a source, and the names of its columns.
func (p *parser) alias() (a Alias, err error) {
	if !p.takeWords("AS") && !p.beginsAlias() {
		return a, nil
	}
	name, err := p.aliasName("the name of a source")
	if err != nil {
		return a, err
	}
	a.Name = &name
	a.Columns, err = p.columnNames()
	return a, err
}

// afterSource are the words that may follow a source or a column, and are not its name without AS.
var afterSource = strings.Fields(`ANTI AS BRANCH CROSS EXCEPT FETCH FOR FROM FULL GROUP HAVING INNER INTERSECT INTO JOIN LATERAL LEFT LIMIT NATURAL OFFSET ON
	ORDER OVER PIVOT QUALIFY RIGHT SEMI SET TABLESAMPLE UNION UNPIVOT USING VERSION WHEN WHERE WINDOW`)

// beginsAlias reports whether a name without AS comes next.
func (p *parser) beginsAlias() bool {
	t := p.peek()
	return t.kind == tokQuoted || t.kind == tokWord && !slices.Contains(afterSource, t.keyword())
}

// aliasName reads the name of a source or a column. Other engines read upper-case letters without quotes as lower-case ones.
func (p *parser) aliasName(what string) (Name, error) {
	t := p.peek()
	switch {
	case t.kind != tokWord && t.kind != tokQuoted:
		return Name{}, p.unexpected(what)
	case t.kind == tokWord && !isPlain(t.text):
		return Name{}, sql.Errorf(sql.ErrUnsupported, t.pos, "%s as %s without quotes (write \"%s\")", t.text, what, t.text)
	}
	p.next++
	return Name{Text: t.text, Quoted: t.kind == tokQuoted}, nil
}

// columnNames reads names in parentheses, or nil if no parenthesis comes next.
func (p *parser) columnNames() ([]Name, error) {
	if !p.takeOp("(") {
		return nil, nil
	}
	var names []Name
	for {
		name, err := p.aliasName("the name of a column")
		if err != nil {
			return nil, err
		}
		if names = append(names, name); !p.takeOp(",") {
			return names, p.expectOp(")")
		}
	}
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
