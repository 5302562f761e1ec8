package syntax

import "tiltyard/shared/sql"

// An Each expands a row of the table to one row per value of a list or function. Expressions refer to the
// value by a name.
type Each struct {
	Column   string   // a list column, whose items are the values; "" for a function
	Function string   // a function, whose results are the values
	Args     []string // of the function, spelled
	Name     string   // of the values
}

// comparesVectors has the functions that native LanceDB has in place of the table.
var comparesVectors = map[string]bool{"vector_dedup": true, "vector_duplicate_pairs": true}

// from reads the name of the one table.
func (p *parser) from() ([]Name, error) {
	var parts []Name
	for {
		if p.peek().isOp("(") {
			return nil, sql.Errorf(sql.ErrUnsupported, p.peek().pos, "subqueries")
		}
		name, err := p.name("the name of a table")
		if err != nil {
			return nil, err
		}
		if parts = append(parts, name); !p.takeOp(".") {
			break
		}
	}
	switch t := p.peek(); {
	case t.isOp("(") && len(parts) == 1 && comparesVectors[parts[0].Text]:
		return nil, sql.Errorf(sql.ErrUnsupported, t.pos, "%s in FROM, which compares the vectors of rows", parts[0].Text)
	case t.isOp("("):
		return nil, sql.Errorf(sql.ErrUnsupported, t.pos, "a function in place of the table in FROM (write FROM table, function(…) AS name)")
	}
	return parts, p.noAlias()
}

// noAlias refuses another name of the table.
func (p *parser) noAlias() error {
	if t := p.peek(); t.keyword() == "AS" || t.kind == tokQuoted || t.kind == tokWord && IsBare(t.text) {
		return sql.Errorf(sql.ErrUnsupported, t.pos, "another name of the table (refer to its columns by their own names)")
	}
	return nil
}

// each parses the clause after the table, if any. LATERAL before a function is optional.
func (p *parser) each() (*Each, error) {
	start := p.peek()
	if !p.takeOp(",") && !p.takeWords("CROSS", "JOIN") {
		return nil, nil
	}
	lateral := p.takeWords("LATERAL")
	e := new(Each)
	var err error
	if p.peek().keyword() == "UNNEST" && !lateral {
		p.next++
		err = p.listColumn(e)
	} else {
		err = p.function(e, start)
	}
	if err != nil {
		return nil, err
	}
	t := p.peek()
	if !p.takeWords("AS") && t.kind != tokQuoted && !(t.kind == tokWord && IsBare(t.text)) {
		return nil, sql.Errorf(sql.ErrUnsupported, t.pos, "UNNEST or a function in FROM without a name (write AS name behind it)")
	}
	name, err := p.name("the name of the values")
	if err != nil {
		return nil, err
	}
	e.Name = name.Text
	if t := p.peek(); t.isOp(",") || t.keyword() == "CROSS" {
		return nil, sql.Errorf(sql.ErrUnsupported, t.pos, "more than one UNNEST or function in FROM")
	}
	return e, nil
}

// listColumn reads the argument of UNNEST.
func (p *parser) listColumn(e *Each) error {
	if err := p.expectOp("("); err != nil {
		return err
	}
	column, err := p.name("the name of a column of lists")
	if err != nil {
		return err
	}
	e.Column = column.Text
	if t := p.peek(); !p.takeOp(")") {
		return sql.Errorf(sql.ErrUnsupported, t.pos, "UNNEST of other than one top-level column")
	}
	return nil
}

// function parses a function call. It refuses a second table in its place.
func (p *parser) function(e *Each, start token) error {
	if p.peek().keyword() == "WINDOW" && p.peekAt(1).isOp("(") { // a reserved word, which nothing else can be here
		p.tokens[p.next].kind, p.tokens[p.next].text = tokQuoted, "window"
	}
	name, err := p.name("the name of a function")
	if err != nil {
		return err
	}
	if e.Function = name.Text; !p.takeOp("(") {
		return sql.Errorf(sql.ErrUnsupported, start.pos, "more than one table in FROM")
	}
	if p.takeOp(")") {
		return nil
	}
	for {
		text, _, err := p.spelled()
		if err != nil {
			return err
		}
		if e.Args = append(e.Args, text); !p.takeOp(",") {
			return p.expectOp(")")
		}
	}
}
