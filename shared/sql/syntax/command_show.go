package syntax

import "tiltyard/shared/sql"

// A ShowKind is what a Show shows.
type ShowKind string

// The kinds. Those of a table are Indexes to Columns.
const (
	ShowTables            ShowKind = "TABLES"
	ShowNamespaces        ShowKind = "NAMESPACES"
	ShowViews             ShowKind = "VIEWS"
	ShowMaterializedViews ShowKind = "MATERIALIZED VIEWS"
	ShowIndexes           ShowKind = "INDEXES"
	ShowTags              ShowKind = "TAGS"
	ShowBranches          ShowKind = "BRANCHES"
	ShowVersions          ShowKind = "VERSIONS"
	ShowColumns           ShowKind = "COLUMNS"
)

// A Show is one of
//
//	SHOW {TABLES | NAMESPACES | SCHEMAS | VIEWS | MATERIALIZED VIEWS} [{IN | FROM} namespace] [WHERE name > 'text'] [LIMIT n]
//	SHOW {INDEXES | TAGS | BRANCHES | VERSIONS | COLUMNS} [{IN | FROM}] table [BRANCH 'name'] [LIMIT n]
type Show struct {
	Kind   ShowKind
	In     []string // a namespace or a table; nil for the namespace in which names are read
	Branch string
	After  string // of the names only those after this one
	Limit  *int64
}

// A Describe is
//
//	{DESCRIBE | DESC} [TABLE | VIEW | MATERIALIZED VIEW] name
type Describe struct {
	Name         []string
	Materialized bool
}

func (*Show) command()     {}
func (*Describe) command() {}

func (c *commander) show() (Command, error) {
	c.next++
	s := new(Show)
	switch {
	case c.takeWords("TABLES"):
		s.Kind = ShowTables
	case c.takeWords("NAMESPACES"), c.takeWords("SCHEMAS"), c.takeWords("DATABASES"):
		s.Kind = ShowNamespaces
	case c.takeWords("VIEWS"):
		s.Kind = ShowViews
	case c.takeWords("MATERIALIZED", "VIEWS"):
		s.Kind = ShowMaterializedViews
	default:
		return c.showOfTable(s)
	}
	var err error
	if c.takeWords("IN") || c.takeWords("FROM") {
		if s.In, err = c.objectName(); err != nil {
			return nil, err
		}
	}
	if c.takeWords("WHERE") {
		if s.After, err = c.after(); err != nil {
			return nil, err
		}
	}
	if c.takeWords("LIMIT") {
		s.Limit, err = c.count("LIMIT")
	}
	return s, err
}

// after reads name > 'text', the only condition of lists: they are read from a place on.
func (c *commander) after() (string, error) {
	first := c.peek()
	e, err := c.expr(precNone)
	if err != nil {
		return "", err
	}
	if b, ok := e.(*Binary); ok && b.Op == Gt {
		name, isColumn := b.L.(*Column)
		text, isText := b.R.(*Text)
		if isColumn && isText && len(name.Path) == 1 && name.Path[0].Text == "name" {
			return text.Value, nil
		}
	}
	return "", sql.Errorf(sql.ErrUnsupported, first.pos, "WHERE %s: a list takes WHERE name > 'text'", e)
}

// showOfTable reads the rest of a list about one table.
func (c *commander) showOfTable(s *Show) (Command, error) {
	switch {
	case c.takeWords("INDEXES"), c.takeWords("INDICES"), c.takeWords("INDEX"):
		s.Kind = ShowIndexes
	case c.takeWords("TAGS"):
		s.Kind = ShowTags
	case c.takeWords("BRANCHES"):
		s.Kind = ShowBranches
	case c.takeWords("VERSIONS"):
		s.Kind = ShowVersions
	case c.takeWords("COLUMNS"):
		s.Kind = ShowColumns
	default:
		return nil, c.unknown("SHOW", "TABLES, NAMESPACES, VIEWS, MATERIALIZED VIEWS, INDEXES, TAGS, BRANCHES, VERSIONS or COLUMNS")
	}
	if !c.takeWords("IN") {
		c.takeWords("FROM")
	}
	var err error
	if s.In, err = c.objectName(); err != nil {
		return nil, err
	}
	if s.Kind != ShowTags && s.Kind != ShowBranches { // which belong to the whole table
		s.Branch = c.branch()
	}
	if c.takeWords("LIMIT") {
		s.Limit, err = c.count("LIMIT")
	}
	return s, err
}

func (c *commander) describe() (Command, error) {
	c.next++
	s := &Describe{Materialized: c.takeWords("MATERIALIZED", "VIEW")}
	// A table may be called "table" or "view", which is then the only word.
	if !s.Materialized && (c.peekAt(1).kind == tokWord || c.peekAt(1).kind == tokQuoted) && !c.takeWords("TABLE") {
		c.takeWords("VIEW")
	}
	var err error
	s.Name, err = c.objectName()
	return s, err
}
