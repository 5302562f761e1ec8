package syntax

import "tiltyard/shared/sql"

// A Merge is
//
//	MERGE INTO table [BRANCH 'name'] [[AS] name] USING source ON condition clause …
//
// with a table or a query in parentheses as source, and with clauses such as
//
//	WHEN MATCHED [AND condition] THEN {UPDATE SET {* | column = expression, …} | DELETE}
//	WHEN NOT MATCHED [BY TARGET] [AND condition] THEN INSERT {* | [(column, …)] VALUES (expression, …)}
//	WHEN NOT MATCHED BY SOURCE [AND condition] THEN {UPDATE SET column = expression, … | DELETE}
type Merge struct {
	Table   []string
	Branch  string
	Alias   string // "": the name of the table
	Source  Source // a *Table or a *Derived
	On      Expr
	Clauses []MergeClause // at least one
}

// A MergeClause is what a merge does with some rows.
type MergeClause struct {
	Rows    MergeRows
	And     Expr // nil without
	Action  MergeAction
	All     bool      // SET * or INSERT *
	Columns []*Column // of SET or INSERT; nil with All, and for those of the table in its order
	Values  []Expr    // as many as Columns
	Pos     int
}

// MergeRows are rows of a merge.
type MergeRows string

// The rows: pairs of the table and of the source, and those of one without a match in the other.
const (
	Matched            MergeRows = "MATCHED"
	NotMatched         MergeRows = "NOT MATCHED"
	NotMatchedBySource MergeRows = "NOT MATCHED BY SOURCE"
)

// A MergeAction is what happens with rows.
type MergeAction string

// The actions.
const (
	MergeUpdate MergeAction = "UPDATE"
	MergeInsert MergeAction = "INSERT"
	MergeDelete MergeAction = "DELETE"
)

func (*Merge) command() {}

func (c *commander) merge() (Command, error) {
	c.next++
	if err := c.expectWord("INTO"); err != nil {
		return nil, err
	}
	s := new(Merge)
	var err error
	if s.Table, err = c.objectName(); err != nil {
		return nil, err
	}
	s.Branch = c.branch()
	alias, err := c.alias()
	switch {
	case err != nil:
		return nil, err
	case alias.Columns != nil:
		return nil, sql.Errorf(sql.ErrUnsupported, c.peek().pos, "names for the columns of the table")
	case alias.Name != nil:
		s.Alias = alias.Name.Text
	}
	if err = c.expectWord("USING"); err != nil {
		return nil, err
	}
	if s.Source, err = c.mergeSource(); err != nil {
		return nil, err
	}
	if err = c.expectWord("ON"); err != nil {
		return nil, err
	}
	if s.On, err = c.expr(precNone); err != nil {
		return nil, err
	}
	for len(s.Clauses) == 0 || c.peek().keyword() == "WHEN" {
		clause, err := c.mergeClause()
		if err != nil {
			return nil, err
		}
		s.Clauses = append(s.Clauses, clause)
	}
	return s, nil
}

// mergeSource reads a table, or a query with a name.
func (c *commander) mergeSource() (Source, error) {
	c.queries, c.aggregates = true, true
	defer func() { c.queries, c.aggregates = false, false }()
	pos := c.peek().pos
	s, err := c.source()
	if err != nil {
		return nil, err
	}
	switch s := s.(type) {
	case *Join:
		return nil, sql.Errorf(sql.ErrUnsupported, pos, "USING with a join: write USING (SELECT … FROM …) AS name")
	case *Derived:
		if s.Alias.Name == nil {
			return nil, sql.Errorf(sql.ErrSyntax, pos, "USING (query) without a name: write USING (…) AS name")
		}
	}
	return s, nil
}

func (c *commander) mergeClause() (m MergeClause, err error) {
	m.Pos = c.peek().pos
	if err = c.expectWord("WHEN"); err != nil {
		return m, err
	}
	switch {
	case c.takeWords("MATCHED"):
		m.Rows = Matched
	case c.takeWords("NOT", "MATCHED", "BY", "SOURCE"):
		m.Rows = NotMatchedBySource
	case c.takeWords("NOT", "MATCHED", "BY", "TARGET"), c.takeWords("NOT", "MATCHED"):
		m.Rows = NotMatched
	default:
		return m, c.unexpected("MATCHED or NOT MATCHED")
	}
	if c.takeWords("AND") {
		if m.And, err = c.expr(precNone); err != nil {
			return m, err
		}
	}
	if err = c.expectWord("THEN"); err != nil {
		return m, err
	}
	switch {
	case m.Rows != NotMatched && c.takeWords("DELETE"):
		m.Action = MergeDelete
		return m, nil
	case m.Rows != NotMatched && c.takeWords("UPDATE", "SET"):
		m.Action = MergeUpdate
		return m, c.mergeSet(&m)
	case m.Rows == NotMatched && c.takeWords("INSERT"):
		m.Action = MergeInsert
		return m, c.mergeValues(&m)
	case m.Rows == NotMatched:
		return m, c.unexpected("INSERT")
	}
	return m, c.unexpected("UPDATE SET or DELETE")
}

// mergeSet reads * or assignments.
func (c *commander) mergeSet(m *MergeClause) error {
	if m.All = c.takeOp("*"); m.All {
		return nil
	}
	for more := true; more; more = c.takeOp(",") {
		column, err := c.column()
		if err != nil {
			return err
		}
		if err = c.expectOp("="); err != nil {
			return err
		}
		value, err := c.expr(precNone)
		if err != nil {
			return err
		}
		m.Columns, m.Values = append(m.Columns, column.(*Column)), append(m.Values, value)
	}
	return nil
}

// mergeValues reads *, or columns and values.
func (c *commander) mergeValues(m *MergeClause) error {
	if m.All = c.takeOp("*"); m.All {
		return nil
	}
	if c.takeOp("(") {
		for more := true; more; more = c.takeOp(",") {
			column, err := c.column()
			if err != nil {
				return err
			}
			m.Columns = append(m.Columns, column.(*Column))
		}
		if err := c.expectOp(")"); err != nil {
			return err
		}
	}
	pos := c.peek().pos
	if err := c.expectWord("VALUES"); err != nil {
		return err
	}
	rows, err := c.values()
	switch {
	case err != nil:
		return err
	case len(rows) > 1 || m.Columns != nil && len(m.Columns) != len(rows[0]):
		return sql.Errorf(sql.ErrSyntax, pos, "VALUES of INSERT has one row, with one value for each column")
	}
	m.Values = rows[0]
	return nil
}
