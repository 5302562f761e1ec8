// Package selection parses the queries that define views, and plans them over the schema of their source
// table:
//
//	SELECT column, expr AS name, … | *
//	FROM [namespace.]table [, UNNEST(column) AS name | , function(argument, …) AS name]
//	[WHERE condition] [GROUP BY expr, …] [LIMIT n]
//
// [Parse] parses a text, [Query.String] writes it in the canonical spelling that native LanceDB stores in
// the metadata of its materialized views, and [Query.Plan] binds the expressions and determines the columns
// of the result. Any other clause is an error that names it: a view that ignores a clause would have wrong
// rows.
//
// Sources: lancedb 0.40, materialized_view.rs and materialized_view/query.rs. The files in testdata hold
// queries with the results of lancedb 0.40.
package selection

import (
	"strconv"
	"strings"

	"tiltyard/shared/sql/syntax"
)

// A Query is the definition of a view. Its expressions are SQL in any spelling that Parse accepts. A parsed
// or planned Query has the spelling of native LanceDB.
type Query struct {
	Source  []string // the namespace of the table, and its name as the last part
	Each    *Each    // expands the rows of the table; nil if each gives at most one row
	Columns []Column // nil for *: all columns of the table
	Filter  string   // "" for all rows
	GroupBy []string // key expressions of the groups, one row each; nil: no groups
	Limit   *uint64  // nil for any number of rows

	// Spread appends the fields of the values of Each, which are structs, as columns, unless a column
	// already has the name. SQL has no syntax for it.
	Spread bool
	// Only restricts the columns of the result; nil for all.
	Only []string
}

// A Column is a column of the answer.
type Column struct {
	Name string
	Expr string // over the columns of the source
}

// An Each expands a row of the table to one row per value: the items of a list, or the results of a
// function. Expressions refer to the value by its name.
type Each syntax.Each

// Parse reads a query. Double quotes delimit names, as in SQL, and not strings, as in a
// filter. Errors are *sql.Error.
func Parse(text string) (*Query, error) {
	s, err := syntax.ParseSelect(text)
	if err != nil {
		return nil, err
	}
	q := &Query{Filter: s.Where, GroupBy: s.Group, Limit: s.Limit, Each: (*Each)(s.Each)}
	for _, part := range s.From {
		q.Source = append(q.Source, part.Text)
	}
	for _, item := range s.Items {
		q.Columns = append(q.Columns, Column(item))
	}
	return q, nil
}

// String returns the text of the query. Parse of the text returns an equal query if the expressions have
// the canonical spelling.
func (q *Query) String() string {
	var b strings.Builder
	b.WriteString("SELECT ")
	if q.Columns == nil {
		b.WriteByte('*')
	}
	for i, c := range q.Columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(c.String())
	}
	b.WriteString(" FROM ")
	for i, part := range q.Source {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(syntax.Identifier(part))
	}
	if q.Each != nil {
		b.WriteString(", " + q.Each.String())
	}
	if q.Filter != "" {
		b.WriteString(" WHERE " + q.Filter)
	}
	if q.GroupBy != nil {
		b.WriteString(" GROUP BY " + strings.Join(q.GroupBy, ", "))
	}
	if q.Limit != nil {
		b.WriteString(" LIMIT " + strconv.FormatUint(*q.Limit, 10))
	}
	return b.String()
}

// String returns the column as written in a query: expr AS name, or a path alone if its last name is the
// name of the column.
func (c Column) String() string {
	if syntax.LastName(c.Expr) == c.Name {
		return c.Expr
	}
	return c.Expr + " AS " + syntax.Identifier(c.Name)
}

// String returns the expansion as written in a query.
func (e *Each) String() string {
	call := "UNNEST(" + syntax.Identifier(e.Column) + ")"
	if e.Column == "" {
		call = syntax.Identifier(e.Function) + "(" + strings.Join(e.Args, ", ") + ")"
	}
	return call + " AS " + syntax.Identifier(e.Name)
}
