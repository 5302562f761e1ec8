package syntax

import "tiltyard/shared/sql"

// A Delete is
//
//	DELETE FROM table [BRANCH 'name'] WHERE condition
type Delete struct {
	Table  []string
	Branch string
	Where  Expr
}

// An Update is
//
//	UPDATE table [BRANCH 'name'] SET column = expression, … [WHERE condition]
type Update struct {
	Table  []string
	Branch string
	Set    []Assignment
	Where  Expr // nil for all rows
}

// An Assignment gives a column a value.
type Assignment struct {
	Column string // a path
	Value  Expr
}

// An Insert is one of
//
//	INSERT INTO table [BRANCH 'name'] [(column, …)] VALUES (expression, …), …
//	INSERT INTO table [BRANCH 'name'] [(column, …)] query
//	INSERT OVERWRITE …
type Insert struct {
	Table     []string
	Branch    string
	Overwrite bool
	Columns   []string // nil: those of the table, in its order
	Values    [][]Expr // nil with a query
	Query     *Part
	Pos       int // of VALUES or the query
}

func (*Delete) command() {}
func (*Update) command() {}
func (*Insert) command() {}

func (c *commander) delete() (Command, error) {
	c.next++
	if err := c.expectWord("FROM"); err != nil {
		return nil, err
	}
	s := new(Delete)
	var err error
	if s.Table, err = c.objectName(); err != nil {
		return nil, err
	}
	s.Branch = c.branch()
	if s.Where, err = c.condition(); err == nil && s.Where == nil {
		err = sql.Errorf(sql.ErrSyntax, c.peek().pos, "DELETE without WHERE: write WHERE true to delete all rows")
	}
	return s, err
}

func (c *commander) update() (Command, error) {
	c.next++
	s := new(Update)
	var err error
	if s.Table, err = c.objectName(); err != nil {
		return nil, err
	}
	s.Branch = c.branch()
	if err = c.expectWord("SET"); err != nil {
		return nil, err
	}
	for more := true; more; more = c.takeOp(",") {
		var a Assignment
		if a.Column, err = c.columnPath(); err != nil {
			return nil, err
		}
		if err = c.expectOp("="); err != nil {
			return nil, err
		}
		if a.Value, err = c.expr(precNone); err != nil {
			return nil, err
		}
		s.Set = append(s.Set, a)
	}
	if c.peek().keyword() == "FROM" {
		return nil, sql.Errorf(sql.ErrUnsupported, c.peek().pos, "UPDATE … FROM: write MERGE INTO table USING source")
	}
	s.Where, err = c.condition()
	return s, err
}

// columnPath reads the path of a column. A single name is returned without quotes.
func (c *commander) columnPath() (string, error) {
	t := c.peek()
	if t.kind != tokWord && t.kind != tokQuoted {
		return "", c.unexpected("the name of a column")
	}
	column := new(Column)
	for more := true; more; more = c.takeOp(".") {
		name, err := c.name("the name of a column")
		if err != nil {
			return "", err
		}
		column.Path = append(column.Path, name)
	}
	if len(column.Path) == 1 {
		return column.Path[0].Text, nil
	}
	return column.String(), nil
}

func (c *commander) insert() (Command, error) {
	c.next++
	s := new(Insert)
	if s.Overwrite = c.takeWords("OVERWRITE"); s.Overwrite {
		c.takeWords("INTO")
	} else if err := c.expectWord("INTO"); err != nil {
		return nil, err
	}
	c.takeTableWord()
	var err error
	if s.Table, err = c.objectName(); err != nil {
		return nil, err
	}
	s.Branch = c.branch()
	if c.takeOp("(") {
		for more := true; more; more = c.takeOp(",") {
			name, err := c.name("the name of a column")
			if err != nil {
				return nil, err
			}
			s.Columns = append(s.Columns, name.Text)
		}
		if err = c.expectOp(")"); err != nil {
			return nil, err
		}
	}
	s.Pos = c.peek().pos
	switch {
	case c.takeWords("VALUES"):
		s.Values, err = c.values()
	case c.isQuery():
		s.Query, err = c.part()
	default:
		err = c.unexpected("VALUES or SELECT")
	}
	return s, err
}

// takeTableWord skips TABLE before the name of a table.
func (c *commander) takeTableWord() {
	if next := c.peekAt(1); next.kind == tokWord || next.kind == tokQuoted {
		c.takeWords("TABLE")
	}
}

// values reads rows in parentheses, all of one length.
func (c *commander) values() (rows [][]Expr, err error) {
	for more := true; more; more = c.takeOp(",") {
		open := c.peek()
		if err = c.expectOp("("); err != nil {
			return nil, err
		}
		var row []Expr
		for more := true; more; more = c.takeOp(",") {
			e, err := c.expr(precNone)
			if err != nil {
				return nil, err
			}
			row = append(row, e)
		}
		if err = c.expectOp(")"); err != nil {
			return nil, err
		}
		if len(rows) > 0 && len(row) != len(rows[0]) {
			return nil, sql.Errorf(sql.ErrSyntax, open.pos, "row %d of VALUES has %d values, and the first has %d", len(rows)+1, len(row), len(rows[0]))
		}
		rows = append(rows, row)
	}
	return rows, nil
}
