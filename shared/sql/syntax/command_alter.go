package syntax

import (
	"strconv"
	"strings"

	"tiltyard/shared/sql"
)

// An AlterTable is ALTER TABLE name [BRANCH 'name'] with one of
//
//	ADD [COLUMN] column type [, …]
//	ADD [COLUMN] column GENERATED ALWAYS AS (expression)
//	DROP [COLUMN] column [, …]
//	RENAME COLUMN column TO name
//	RENAME TO table
//	ALTER [COLUMN] column {TYPE type | SET DATA TYPE type | SET NOT NULL | DROP NOT NULL}
//
// Only the fields of its form are set.
type AlterTable struct {
	Table  []string
	Branch string

	Add      []ColumnDefinition
	Computed *Assignment
	Drop     []string
	Change   *ColumnChange
	Rename   []string // the new name of the table
}

// A ColumnChange changes one thing of a column.
type ColumnChange struct {
	Column   string // a path
	Rename   string
	Type     *ColumnType
	Nullable *bool
	Pos      int
}

// An Optimize is
//
//	OPTIMIZE [TABLE] name
type Optimize struct{ Table []string }

func (*AlterTable) command() {}
func (*Optimize) command()   {}

// A ColumnType is the type of a column: that of CAST, or lists of it. VECTOR(n) is FLOAT[n].
type ColumnType struct {
	Name    TypeName
	Lengths []int // of the lists around it, from the innermost to the outermost; 0 for any length
	Pos     int
}

// String returns the type as it is written.
func (t ColumnType) String() string {
	var b strings.Builder
	b.WriteString(t.Name.String())
	for _, n := range t.Lengths {
		b.WriteString("[")
		if n > 0 {
			b.WriteString(strconv.Itoa(n))
		}
		b.WriteString("]")
	}
	return b.String()
}

// maxListLength bounds the length of fixed-size lists.
const maxListLength = 1 << 16

// columnType reads the type of a column.
func (c *commander) columnType() (ColumnType, error) {
	t := ColumnType{Pos: c.peek().pos}
	var err error
	if c.peek().keyword() == "VECTOR" && c.peekAt(1).isOp("(") {
		c.next += 2
		n, err := c.small("the length of a VECTOR", maxListLength)
		if err != nil {
			return t, err
		}
		t.Name, t.Lengths = TypeName{Name: "float"}, []int{n}
		return t, c.expectOp(")")
	}
	if t.Name, err = c.typeName(); err != nil {
		return t, err
	}
	for c.takeOp("[") {
		n := 0
		if !c.peek().isOp("]") {
			if n, err = c.small("the length of a list", maxListLength); err != nil {
				return t, err
			}
		}
		if len(t.Lengths) == maxListNesting {
			return t, sql.Errorf(sql.ErrTooLarge, c.peek().pos, "lists nested more than %d deep", maxListNesting)
		}
		t.Lengths = append(t.Lengths, n)
		if err = c.expectOp("]"); err != nil {
			return t, err
		}
	}
	return t, nil
}

// maxListNesting bounds how deep lists are nested.
const maxListNesting = 8

func (c *commander) alter() (Command, error) {
	c.next++
	if !c.takeWords("TABLE") {
		return nil, c.unknown("ALTER", "TABLE")
	}
	s := new(AlterTable)
	var err error
	if s.Table, err = c.objectName(); err != nil {
		return nil, err
	}
	s.Branch = c.branch()
	switch {
	case c.takeWords("ADD"):
		return s, c.alterAdd(s)
	case c.takeWords("DROP"):
		c.takeWords("COLUMN")
		for more := true; more; more = c.takeOp(",") {
			column, err := c.columnPath()
			if err != nil {
				return nil, err
			}
			s.Drop = append(s.Drop, column)
		}
		return s, nil
	case c.takeWords("RENAME", "TO"):
		s.Rename, err = c.objectName()
		return s, err
	case c.takeWords("RENAME", "COLUMN"):
		return s, c.alterRename(s)
	case c.takeWords("ALTER"):
		return s, c.alterColumn(s)
	}
	return nil, c.unknown("ALTER TABLE name", "ADD COLUMN, DROP COLUMN, RENAME COLUMN, RENAME TO or ALTER COLUMN")
}

// alterAdd reads new columns: of nulls, or one that is computed.
func (c *commander) alterAdd(s *AlterTable) error {
	c.takeWords("COLUMN")
	if c.peekAt(1).keyword() == "GENERATED" {
		name, err := c.name("the name of a column")
		if err != nil {
			return err
		}
		if !c.takeWords("GENERATED", "ALWAYS", "AS") {
			return c.unexpected("GENERATED ALWAYS AS (expression)")
		}
		if err = c.expectOp("("); err != nil {
			return err
		}
		s.Computed = &Assignment{Column: name.Text}
		if s.Computed.Value, err = c.expr(precNone); err != nil {
			return err
		}
		return c.expectOp(")")
	}
	for more := true; more; more = c.takeOp(",") {
		column, err := c.columnDefinition()
		if err != nil {
			return err
		}
		if !column.Nullable {
			return sql.Errorf(sql.ErrUnsupported, column.Pos, "ADD COLUMN %s NOT NULL: its rows have no values yet; add it, UPDATE it, and then ALTER COLUMN %s SET NOT NULL", column.Name, column.Name)
		}
		s.Add = append(s.Add, column)
	}
	return nil
}

func (c *commander) alterRename(s *AlterTable) error {
	change := &ColumnChange{Pos: c.peek().pos}
	var err error
	if change.Column, err = c.columnPath(); err != nil {
		return err
	}
	if err = c.expectWord("TO"); err != nil {
		return err
	}
	name, err := c.name("the new name of the column")
	change.Rename, s.Change = name.Text, change
	return err
}

func (c *commander) alterColumn(s *AlterTable) error {
	c.takeWords("COLUMN")
	change := &ColumnChange{Pos: c.peek().pos}
	var err error
	if change.Column, err = c.columnPath(); err != nil {
		return err
	}
	s.Change = change
	switch {
	case c.takeWords("TYPE"), c.takeWords("SET", "DATA", "TYPE"):
		typ, err := c.columnType()
		change.Type = &typ
		return err
	case c.takeWords("SET", "NOT", "NULL"):
		change.Nullable = new(bool)
		return nil
	case c.takeWords("DROP", "NOT", "NULL"):
		change.Nullable = new(true)
		return nil
	}
	return c.unknown("ALTER COLUMN name", "TYPE, SET DATA TYPE, SET NOT NULL or DROP NOT NULL")
}

func (c *commander) optimize() (Command, error) {
	c.next++
	c.takeTableWord()
	s := new(Optimize)
	var err error
	s.Table, err = c.objectName()
	return s, err
}
