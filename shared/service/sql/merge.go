package sql

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/sql"
	"tiltyard/shared/sql/syntax"
)

// merge merges the rows of a source into a table, as MergeInsertIntoTable does: it reads the values that the clauses give
// to columns of the table as rows of a query, and uploads them.
func (s *Service) merge(ctx context.Context, in *statement, c *syntax.Merge) (*protocol.Rows, error) {
	m, err := newMerging(c)
	if err != nil {
		return nil, err
	}
	req := &dataapi.MergeInsertRequest{Common: in.of(in.id(c.Table)), Branch: c.Branch, On: m.on}
	ctx, err = admit(ctx, "MergeInsertIntoTable", req)
	if err != nil {
		return nil, err
	}
	columns, err := s.columnsOf(ctx, req.ID, req.Branch)
	if err != nil {
		return nil, err
	}
	if err := m.plan(req, columns); err != nil {
		return nil, err
	}
	block := &syntax.Block{Outputs: m.outputs, From: c.Source}
	rows, err := s.queries.Run(ctx, in.StatementRequest, &syntax.Statement{Query: &syntax.Query{Body: block}})
	if err != nil {
		return nil, err
	}
	if columns != nil {
		if rows, err = converted(ctx, rows, typed(rows.Schema, columns), c.Source.Pos()); err != nil {
			return nil, err
		}
	}
	body := newBody(rows)
	defer body.close()
	req.Body = body
	made, err := s.data.Merge(ctx, req)
	if err != nil {
		return nil, err
	}
	return counted(made.NumUpdatedRows+made.NumInsertedRows+made.NumDeletedRows, made.Version), nil
}

// typed returns columns with the types of those of a table that have their names.
func typed(columns, table *arrow.Schema) *arrow.Schema {
	fields := columns.Fields()
	for i, f := range fields {
		if of, ok := table.FieldsByName(f.Name); ok {
			fields[i] = of[0]
		}
	}
	return plain(fields)
}

// A merging makes a request of a MERGE.
type merging struct {
	*syntax.Merge
	target, source []string // their names in expressions
	on             []string // key columns of the table
	keys           []syntax.Expr
	outputs        []syntax.Output // the rows to upload
	whole          bool            // outputs are all columns of the source
}

// newMerging finds the keys.
func newMerging(c *syntax.Merge) (*merging, error) {
	m := &merging{Merge: c, target: c.Table}
	if c.Alias != "" {
		m.target = []string{c.Alias}
	}
	switch s := c.Source.(type) {
	case *syntax.Derived:
		m.source = []string{s.Alias.Name.Text}
	case *syntax.Table:
		for _, part := range s.Name {
			m.source = append(m.source, part.Text)
		}
		if s.Alias.Name != nil {
			m.source = []string{s.Alias.Name.Text}
		}
	}
	if last := m.target[len(m.target)-1]; m.source[len(m.source)-1] == last {
		return nil, sql.Errorf(sql.ErrSyntax, c.Source.Pos(), "the table and the source are both called %s: name one of them with AS", last)
	}
	for _, part := range syntax.Conjuncts(c.On) {
		if err := m.key(part); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// key adds an equality of a column of the table and one of the source.
func (m *merging) key(e syntax.Expr) error {
	b, ok := e.(*syntax.Binary)
	if ok && b.Op == syntax.Eq {
		for _, pair := range [][2]syntax.Expr{{b.L, b.R}, {b.R, b.L}} {
			of, isColumn := pair[0].(*syntax.Column)
			from, alsoColumn := pair[1].(*syntax.Column)
			if !isColumn || !alsoColumn {
				continue
			}
			column, value := under(m.target, of), under(m.source, from)
			if len(column) == 1 && value != nil && under(m.source, of) == nil {
				if slices.Contains(m.on, column[0].Text) {
					return sql.Errorf(sql.ErrSyntax, e.Pos(), "ON compares column %s twice", column[0].Text)
				}
				m.on, m.keys = append(m.on, column[0].Text), append(m.keys, from)
				return nil
			}
		}
	}
	return sql.Errorf(sql.ErrUnsupported, e.Pos(), "ON %s: MergeInsertIntoTable finds rows by %s.column = %s.column, or several of them with AND between", e, m.target[len(m.target)-1], m.source[len(m.source)-1])
}

// under returns the path behind the name of a source, or nil for a column that is written without it.
func under(source []string, c *syntax.Column) []syntax.Name {
	for n := len(c.Path) - 1; n > 0; n-- {
		if syntax.EndsWith(source, c.Path[:n], true) {
			return c.Path[n:]
		}
	}
	return nil
}

// refused returns the error for a clause that MergeInsertIntoTable does not have.
func refused(pos int, clause, instead string) error {
	return sql.Errorf(sql.ErrUnsupported, pos, "%s, which MergeInsertIntoTable does not do: %s", clause, instead)
}

// plan sets the actions of a request, and the outputs of the source.
func (m *merging) plan(req *dataapi.MergeInsertRequest, columns *arrow.Schema) error {
	var sets []*setting
	seen := map[syntax.MergeRows]bool{}
	var condition *syntax.MergeClause // of pairs, when the outputs are known
	for i := range m.Clauses {
		c := &m.Clauses[i]
		when := "WHEN " + string(c.Rows)
		if seen[c.Rows] {
			return refused(c.Pos, when+" twice", "write one MERGE for each")
		}
		seen[c.Rows] = true
		switch {
		case c.Rows == syntax.Matched && c.Action == syntax.MergeDelete:
			return refused(c.Pos, when+" THEN DELETE", "write DELETE FROM table WHERE condition")
		case c.Rows == syntax.NotMatched && c.And != nil:
			return refused(c.Pos, when+" AND condition", "put the condition into USING (SELECT … WHERE …) AS name")
		case c.Rows == syntax.NotMatchedBySource && c.Action == syntax.MergeUpdate:
			return refused(c.Pos, when+" THEN UPDATE", "write UPDATE table SET … WHERE condition")
		case c.Rows == syntax.NotMatchedBySource:
			if err := m.bySource(req, c); err != nil {
				return err
			}
			continue
		}
		set, err := m.setting(c, columns)
		if err != nil {
			return err
		}
		sets = append(sets, set)
		if c.Rows == syntax.NotMatched {
			req.WhenNotMatchedInsertAll = true
			continue
		}
		if req.WhenMatchedUpdateAll = true; c.And != nil {
			condition = c
		}
	}
	if len(sets) == 2 && !sets[0].equal(sets[1]) {
		return refused(m.Clauses[0].Pos, "UPDATE SET and INSERT of different columns or values", "write one MERGE for each")
	}
	if len(sets) == 0 {
		sets = append(sets, &setting{columns: m.on, values: m.keys})
	}
	if m.whole = sets[0].columns == nil; m.whole {
		m.outputs = []syntax.Output{{}}
	}
	for i, name := range sets[0].columns {
		m.outputs = append(m.outputs, syntax.Output{Name: name, Expr: sets[0].values[i]})
	}
	if condition == nil {
		return nil
	}
	return m.pairs(req, condition)
}

// A setting is the values of columns of the table, over columns of the source. The keys come first.
type setting struct {
	columns []string // nil: all columns of the source have the names of those of the table
	values  []syntax.Expr
}

// equal reports whether two settings give the same columns the same values, in any order.
func (s *setting) equal(o *setting) bool {
	if len(s.columns) != len(o.columns) {
		return false
	}
	for i, name := range s.columns {
		if at := slices.Index(o.columns, name); at < 0 || o.values[at].String() != s.values[i].String() {
			return false
		}
	}
	return true
}

// setting returns the values of a clause.
func (m *merging) setting(c *syntax.MergeClause, columns *arrow.Schema) (*setting, error) {
	if c.All {
		for i, key := range m.keys {
			if path := under(m.source, key.(*syntax.Column)); len(path) != 1 || path[0].Text != m.on[i] {
				return nil, sql.Errorf(sql.ErrUnsupported, key.Pos(), "* with the key %s, which is %s in the table: write USING (SELECT … AS %s …) AS name", key, m.on[i], m.on[i])
			}
		}
		return new(setting), nil
	}
	names, err := m.names(c, columns)
	if err != nil {
		return nil, err
	}
	s := &setting{columns: slices.Clone(m.on), values: slices.Clone(m.keys)}
	keys := 0
	for i, name := range names {
		value := c.Values[i]
		if err := m.ofSource(value); err != nil {
			return nil, err
		}
		if at := slices.Index(m.on, name); at >= 0 {
			if keys++; value.String() != m.keys[at].String() {
				return nil, refused(value.Pos(), "another value than "+m.keys[at].String()+" for the key "+name, "rows are found by that value")
			}
			continue
		}
		if slices.Contains(s.columns, name) {
			return nil, sql.Errorf(sql.ErrSyntax, c.Pos, "column %q is set twice", name)
		}
		s.columns, s.values = append(s.columns, name), append(s.values, value)
	}
	if c.Action == syntax.MergeInsert && keys != len(m.on) {
		return nil, refused(c.Pos, "INSERT without the columns of ON", "give each of them the value that it is compared with")
	}
	return s, nil
}

// names returns the columns of the table that a clause sets.
func (m *merging) names(c *syntax.MergeClause, columns *arrow.Schema) (names []string, err error) {
	if c.Columns == nil {
		if columns == nil {
			return nil, sql.Errorf(sql.ErrUnsupported, c.Pos, "INSERT VALUES into a table that is only declared: name the columns")
		}
		if len(c.Values) != columns.NumFields() {
			return nil, sql.Errorf(sql.ErrType, c.Pos, "INSERT has %d values, and the table has %d columns; name those of the values: INSERT (column, …) VALUES …", len(c.Values), columns.NumFields())
		}
		for _, f := range columns.Fields() {
			names = append(names, f.Name)
		}
		return names, nil
	}
	for _, column := range c.Columns {
		path := column.Path
		if below := under(m.target, column); below != nil {
			path = below
		}
		if len(path) > 1 {
			return nil, sql.Errorf(sql.ErrUnsupported, column.Pos(), "%s, a part of a column: set the whole column", column)
		}
		if columns != nil && !columns.HasField(path[0].Text) {
			return nil, protocol.Errorf(protocol.TableColumnNotFound, "column %q does not exist", path[0].Text)
		}
		names = append(names, path[0].Text)
	}
	return names, nil
}

// ofSource returns an error for an expression with a column of the table.
func (m *merging) ofSource(e syntax.Expr) error {
	_, err := syntax.Rewrite(e, func(e syntax.Expr) (syntax.Expr, error) {
		if c, ok := e.(*syntax.Column); ok && under(m.target, c) != nil {
			return nil, refused(c.Pos(), "a value with the column "+c.String()+" of the table", "UPDATE computes with columns of the table")
		}
		return nil, nil //nolint:nilnil // look inside
	})
	return err
}

// bySource sets the condition of rows to delete, over columns of the table.
func (m *merging) bySource(req *dataapi.MergeInsertRequest, c *syntax.MergeClause) error {
	req.WhenNotMatchedBySourceDelete = true
	if c.And == nil {
		return nil
	}
	e, err := syntax.Rewrite(c.And, func(e syntax.Expr) (syntax.Expr, error) {
		of, ok := e.(*syntax.Column)
		if !ok {
			return nil, nil //nolint:nilnil // look inside
		}
		if path := under(m.target, of); path != nil {
			return of.At(path), nil
		}
		if under(m.source, of) != nil {
			return nil, sql.Errorf(sql.ErrSyntax, of.Pos(), "%s in WHEN NOT MATCHED BY SOURCE, whose rows have no row of the source", of)
		}
		return of, nil
	})
	if err == nil {
		req.WhenNotMatchedBySourceDeleteFilter = e.String()
	}
	return err
}

// pairs sets the condition of rows to update. The operation reads it over the structs source, which has the uploaded
// columns, and target.
func (m *merging) pairs(req *dataapi.MergeInsertRequest, c *syntax.MergeClause) error {
	e, err := syntax.Rewrite(c.And, func(e syntax.Expr) (syntax.Expr, error) {
		of, ok := e.(*syntax.Column)
		if !ok {
			return nil, nil //nolint:nilnil // look inside
		}
		if path := under(m.target, of); path != nil {
			return of.At(append([]syntax.Name{{Text: "target"}}, path...)), nil
		}
		path := under(m.source, of)
		if path == nil {
			return nil, sql.Errorf(sql.ErrSyntax, of.Pos(), "%s in WHEN MATCHED AND …: write %s. or %s. before it", of, m.target[len(m.target)-1], m.source[len(m.source)-1])
		}
		if m.whole {
			return of.At(append([]syntax.Name{{Text: "source"}}, path...)), nil
		}
		for _, out := range m.outputs {
			value, ok := out.Expr.(*syntax.Column)
			if !ok {
				continue
			}
			from := under(m.source, value)
			if from == nil {
				from = value.Path
			}
			if slices.EqualFunc(from, path, func(a, b syntax.Name) bool { return a.Text == b.Text }) {
				return of.At([]syntax.Name{{Text: "source"}, {Text: out.Name, Quoted: true}}), nil
			}
		}
		return nil, refused(of.Pos(), "WHEN MATCHED AND a condition with "+of.String()+", which is not set", "write SET *, or put the condition into USING (SELECT … WHERE …) AS name")
	})
	if err == nil {
		req.WhenMatchedUpdateAllFilter = e.String()
	}
	return err
}
