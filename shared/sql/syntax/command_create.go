package syntax

import "tiltyard/shared/sql"

// A CreateView is
//
//	CREATE [MATERIALIZED] VIEW [IF NOT EXISTS] name [WITH (option = value, …)] AS query
type CreateView struct {
	Name         []string
	Materialized bool
	IfNotExists  bool
	Options      []Option
	Query        Part
}

// A RefreshView is
//
//	REFRESH MATERIALIZED VIEW name [WITH (option = value, …)]
type RefreshView struct {
	Name    []string
	Options []Option
}

// A CreateTable is one of
//
//	CREATE [OR REPLACE] TABLE [IF NOT EXISTS] name (column type [NOT NULL], …)
//	CREATE [OR REPLACE] TABLE [IF NOT EXISTS] name AS query
type CreateTable struct {
	Name                 []string
	Replace, IfNotExists bool
	Columns              []ColumnDefinition // nil with a query
	Query                *Part
}

// A ColumnDefinition is a column of a new table.
type ColumnDefinition struct {
	Name     string
	Type     ColumnType
	Nullable bool
	Pos      int
}

// A CreateNamespace is
//
//	CREATE {NAMESPACE | SCHEMA} [IF NOT EXISTS] name
type CreateNamespace struct {
	Name        []string
	IfNotExists bool
}

// A CreateIndex is
//
//	CREATE INDEX [name] ON table USING kind (column) [WITH (option = value, …)]
type CreateIndex struct {
	Name    string // "" if not given
	Table   []string
	Branch  string
	Kind    string
	Column  string // a path
	Options []Option
}

// A CreateTag is
//
//	CREATE TAG name ON table VERSION AS OF n [BRANCH 'name']
type CreateTag struct {
	Name    string
	Table   []string
	Version *int64
	Branch  string
}

// A CreateBranch is
//
//	CREATE BRANCH name ON table [VERSION AS OF n] [BRANCH 'name']
type CreateBranch struct {
	Name    string
	Table   []string
	Version *int64 // nil: the latest
	Branch  string // from which it comes
}

func (*CreateView) command()      {}
func (*RefreshView) command()     {}
func (*CreateTable) command()     {}
func (*CreateNamespace) command() {}
func (*CreateIndex) command()     {}
func (*CreateTag) command()       {}
func (*CreateBranch) command()    {}

func (c *commander) create() (Command, error) {
	c.next++
	replace := c.takeWords("OR", "REPLACE")
	switch word := c.peek(); {
	case c.takeWords("TABLE"):
		return c.createTable(replace)
	case replace:
		return nil, sql.Errorf(sql.ErrUnsupported, word.pos, "CREATE OR REPLACE %s: drop it first", word.text)
	case c.takeWords("MATERIALIZED", "VIEW"):
		return c.createView(true)
	case c.takeWords("VIEW"):
		return c.createView(false)
	case c.takeWords("NAMESPACE"), c.takeWords("SCHEMA"):
		return c.createNamespace()
	case c.takeWords("INDEX"):
		return c.createIndex()
	case c.takeWords("TAG"):
		return c.createTag()
	case c.takeWords("BRANCH"):
		return c.createBranch()
	}
	return nil, c.unknown("CREATE", "TABLE, VIEW, MATERIALIZED VIEW, NAMESPACE, INDEX, TAG or BRANCH")
}

func (c *commander) createView(materialized bool) (Command, error) {
	s := &CreateView{Materialized: materialized, IfNotExists: c.ifNotExists()}
	var err error
	if s.Name, err = c.objectName(); err != nil {
		return nil, err
	}
	if s.Options, err = c.options(); err != nil {
		return nil, err
	}
	if err = c.expectWord("AS"); err != nil {
		return nil, err
	}
	part, err := c.part()
	if err != nil {
		return nil, err
	}
	if len(part.Parameters) > 0 {
		return nil, sql.Errorf(sql.ErrUnsupported, sql.NoPos, "parameter $%s in a query that is stored", part.Parameters[0])
	}
	s.Query = *part
	return s, nil
}

func (c *commander) refresh() (Command, error) {
	c.next++
	if !c.takeWords("MATERIALIZED", "VIEW") {
		return nil, c.unknown("REFRESH", "MATERIALIZED VIEW")
	}
	s := new(RefreshView)
	var err error
	if s.Name, err = c.objectName(); err != nil {
		return nil, err
	}
	s.Options, err = c.options()
	return s, err
}

func (c *commander) createTable(replace bool) (Command, error) {
	s := &CreateTable{Replace: replace, IfNotExists: c.ifNotExists()}
	if s.Replace && s.IfNotExists {
		return nil, sql.Errorf(sql.ErrSyntax, c.peek().pos, "OR REPLACE and IF NOT EXISTS in one statement")
	}
	var err error
	if s.Name, err = c.objectName(); err != nil {
		return nil, err
	}
	if c.takeWords("AS") {
		if !c.isQuery() {
			return nil, c.unexpected("SELECT")
		}
		s.Query, err = c.part()
		return s, err
	}
	if err = c.expectOp("("); err != nil {
		return nil, err
	}
	for {
		column, err := c.columnDefinition()
		if err != nil {
			return nil, err
		}
		if s.Columns = append(s.Columns, column); !c.takeOp(",") {
			return s, c.expectOp(")")
		}
	}
}

// columnDefinition reads a column of a new table. Constraints are refused, because nothing enforces them.
func (c *commander) columnDefinition() (ColumnDefinition, error) {
	t := c.peek()
	switch w := t.keyword(); w {
	case "PRIMARY", "FOREIGN", "UNIQUE", "CHECK", "CONSTRAINT":
		return ColumnDefinition{}, sql.Errorf(sql.ErrUnsupported, t.pos, "%s: tables have no constraints but NOT NULL", w)
	}
	name, err := c.name("the name of a column")
	if err != nil {
		return ColumnDefinition{}, err
	}
	column := ColumnDefinition{Name: name.Text, Nullable: true, Pos: t.pos}
	if column.Type, err = c.columnType(); err != nil {
		return ColumnDefinition{}, err
	}
	if column.Nullable = !c.takeWords("NOT", "NULL"); column.Nullable {
		c.takeWords("NULL")
	}
	switch w := c.peek().keyword(); w {
	case "PRIMARY", "REFERENCES", "UNIQUE", "CHECK", "CONSTRAINT", "DEFAULT", "GENERATED":
		return ColumnDefinition{}, sql.Errorf(sql.ErrUnsupported, c.peek().pos, "%s of a new table's column", w)
	}
	return column, nil
}

func (c *commander) createNamespace() (Command, error) {
	s := &CreateNamespace{IfNotExists: c.ifNotExists()}
	var err error
	s.Name, err = c.objectName()
	return s, err
}

func (c *commander) createIndex() (Command, error) {
	s := new(CreateIndex)
	var err error
	if c.peek().keyword() != "ON" {
		if s.Name, err = c.label("the name of the index"); err != nil {
			return nil, err
		}
	}
	if err = c.expectWord("ON"); err != nil {
		return nil, err
	}
	if s.Table, err = c.objectName(); err != nil {
		return nil, err
	}
	s.Branch = c.branch()
	if err = c.expectWord("USING"); err != nil {
		return nil, err
	}
	if s.Kind, err = c.label("the kind of the index, such as BTREE, FTS or IVF_PQ"); err != nil {
		return nil, err
	}
	if err = c.expectOp("("); err != nil {
		return nil, err
	}
	if s.Column, err = c.columnPath(); err != nil {
		return nil, err
	}
	if c.peek().isOp(",") {
		return nil, sql.Errorf(sql.ErrUnsupported, c.peek().pos, "an index on several columns")
	}
	if err = c.expectOp(")"); err != nil {
		return nil, err
	}
	s.Options, err = c.options()
	return s, err
}

// on reads what follows the name of a tag or a branch.
func (c *commander) on() (table []string, version *int64, branch string, err error) {
	if err = c.expectWord("ON"); err != nil {
		return nil, nil, "", err
	}
	if table, err = c.objectName(); err != nil {
		return nil, nil, "", err
	}
	version, err = c.version()
	return table, version, c.branch(), err
}

func (c *commander) createTag() (Command, error) {
	s := new(CreateTag)
	var err error
	if s.Name, err = c.label("the name of the tag"); err != nil {
		return nil, err
	}
	if s.Table, s.Version, s.Branch, err = c.on(); err == nil && s.Version == nil {
		err = c.unexpected("VERSION AS OF and the number of the version")
	}
	return s, err
}

func (c *commander) createBranch() (Command, error) {
	s := new(CreateBranch)
	var err error
	if s.Name, err = c.label("the name of the branch"); err != nil {
		return nil, err
	}
	s.Table, s.Version, s.Branch, err = c.on()
	return s, err
}
