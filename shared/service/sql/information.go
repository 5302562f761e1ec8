package sql

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine/relation"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// informationSchema is the namespace of tables that list what the sender of a statement may list and describe. A namespace
// of the catalog with this name takes its place.
const informationSchema = "information_schema"

// A listing is a table of the information schema.
type listing struct {
	service *Service
	in      *statement
	name    string
	schema  *arrow.Schema
	list    func(context.Context, *reading) error
	most    int // tables that are opened for their columns
}

// mostOpened bounds the tables that are opened for one list.
const mostOpened = 10_000

// listings has the columns and the rows of each table. The second column is the name of the schema. All columns are texts,
// except ordinal_position.
var listings = map[string]struct {
	columns []string
	list    func(context.Context, *reading) error
}{
	"schemata": {[]string{"catalog_name", "schema_name"}, listSchemata},
	"tables":   {[]string{"table_catalog", "table_schema", "table_name", "table_type"}, listTables},
	"views":    {[]string{"table_catalog", "table_schema", "table_name", "view_definition"}, listViews},
	"columns":  {[]string{"table_catalog", "table_schema", "table_name", "column_name", "ordinal_position", "is_nullable", "data_type"}, listColumns},
}

// information opens a table of the information schema. It returns nil for the id of any other table.
func (s *Service) information(ctx context.Context, req *queryapi.StatementRequest, id []string) (relation.Table, error) {
	if len(id) != 2 || id[0] != informationSchema {
		return nil, nil //nolint:nilnil // another table
	}
	of, ok := listings[id[1]]
	if !ok {
		return nil, nil //nolint:nilnil // no table
	}
	if _, err := s.tables.Names.Namespaces.Get(ctx, id[:1]); !protocol.HasCode(err, protocol.NamespaceNotFound) {
		return nil, err // without an error it is a table of the catalog
	}
	l := &listing{service: s, in: &statement{req}, name: id[1], list: of.list, most: mostOpened}
	fields := make([]arrow.Field, len(of.columns))
	for i, name := range of.columns {
		fields[i] = arrow.Field{Name: name, Type: arrow.BinaryTypes.String}
		if name == "ordinal_position" {
			fields[i].Type = arrow.PrimitiveTypes.Int64
		}
	}
	l.schema = arrow.NewSchema(fields, nil)
	return l, nil
}

// Selecting marks a table that only selects columns and rows.
func (*listing) Selecting() {}

// Columns returns the columns that a query names, or all.
func (l *listing) Columns(_ context.Context, q *syntax.Query) (*arrow.Schema, error) {
	var fields []arrow.Field
	for _, out := range q.Body.(*syntax.Block).Outputs {
		if out.Expr == nil {
			return l.schema, nil
		}
		found, _ := l.schema.FieldsByName(out.Name)
		fields = append(fields, found...)
	}
	return arrow.NewSchema(fields, nil), nil
}

// Count returns an estimate.
func (l *listing) Count(context.Context) (int64, error) { return 1000, nil }

// Explain names the table and the condition.
func (l *listing) Explain(_ context.Context, q *syntax.Query) (string, error) {
	text := "InformationSchema: " + l.name
	if where := q.Body.(*syntax.Block).Where; where != nil {
		text += " where " + where.String()
	}
	return text, nil
}

// errEnough ends a list that nothing reads any more.
var errEnough = errors.New("no more rows are asked for")

// Rows lists the rows for which the condition of a query is true.
func (l *listing) Rows(ctx context.Context, q *syntax.Query) (*protocol.Rows, error) {
	out, err := l.Columns(ctx, q)
	if err != nil {
		return nil, err
	}
	where := syntax.Conjuncts(q.Body.(*syntax.Block).Where)
	return &protocol.Rows{Schema: out, Batches: func(yield func(arrow.RecordBatch, error) bool) {
		r := &reading{listing: l, out: out, where: where, yield: func(batch arrow.RecordBatch) error {
			if !yield(batch, nil) {
				return errEnough
			}
			return nil
		}}
		r.schemas = textsOf(where, l.schema.Field(1).Name)
		if err := l.list(ctx, r); err != nil && !errors.Is(err, errEnough) {
			yield(nil, err)
		}
	}}, nil
}

// A reading is a run of a listing.
type reading struct {
	*listing
	out     *arrow.Schema // the columns that are asked for
	where   []syntax.Expr // conditions that all must be true
	schemas []string      // the only schemas whose rows may meet them; nil: all
	yield   func(arrow.RecordBatch) error
}

// add yields rows, which have all columns of the listing, as far as they meet the conditions.
func (r *reading) add(ctx context.Context, columns ...column) error {
	for i := range columns {
		columns[i].name = r.schema.Field(i).Name
	}
	rows, err := r.selected(ctx, batchOf(columns))
	if err != nil || len(rows) == 0 {
		return err
	}
	chosen := make([]column, r.out.NumFields())
	for i, f := range r.out.Fields() {
		chosen[i] = columns[r.schema.FieldIndices(f.Name)[0]].at(rows)
	}
	return r.yield(batchOf(chosen))
}

// at returns some values of a column.
func (c column) at(rows []int32) column {
	switch values := c.values.(type) {
	case []string:
		return column{c.name, valuesAt(values, rows)}
	case []int64:
		return column{c.name, valuesAt(values, rows)}
	}
	return c
}

func valuesAt[T any](values []T, rows []int32) []T {
	chosen := make([]T, len(rows))
	for i, row := range rows {
		chosen[i] = values[row]
	}
	return chosen
}

// selected returns the numbers of the rows that meet the conditions over the columns that a batch has.
func (r *reading) selected(ctx context.Context, batch arrow.RecordBatch) ([]int32, error) {
	var fit []syntax.Expr
	for _, c := range r.where {
		if !slices.ContainsFunc(columnsIn(c), func(name string) bool { return !batch.Schema().HasField(name) }) {
			fit = append(fit, c)
		}
	}
	condition := syntax.Conjunction(fit)
	if condition == nil {
		condition = &syntax.Bool{Value: true}
	}
	bound, err := plan.BindFilter(ctx, condition, batch.Schema(), r.service.tables.Now())
	if err != nil {
		return nil, err
	}
	return bound.Select(ctx, batch, nil)
}

// needs reports whether a column is asked for, or a condition names it.
func (r *reading) needs(name string) bool {
	return r.out.HasField(name) || slices.ContainsFunc(r.where, func(c syntax.Expr) bool { return slices.Contains(columnsIn(c), name) })
}

// columnsIn returns the names of the columns in an expression.
func columnsIn(e syntax.Expr) (found []string) {
	_, _ = syntax.Rewrite(e, func(e syntax.Expr) (syntax.Expr, error) {
		if c, ok := e.(*syntax.Column); ok {
			found = append(found, c.Path[0].Text)
		}
		return nil, nil //nolint:nilnil // look inside
	})
	return found
}

// textsOf returns the only values that a column can have by a condition such as column = 'text' or column IN ('text', …), or
// nil without such a condition.
func textsOf(where []syntax.Expr, column string) []string {
	for _, c := range where {
		var of syntax.Expr
		var values []syntax.Expr
		switch c := c.(type) {
		case *syntax.In:
			if !c.Not {
				of, values = c.X, c.List
			}
		case *syntax.Binary:
			of, values = c.L, []syntax.Expr{c.R}
			if _, ok := c.L.(*syntax.Text); ok {
				of, values = c.R, []syntax.Expr{c.L}
			}
			if c.Op != syntax.Eq {
				of = nil
			}
		}
		if named, ok := of.(*syntax.Column); !ok || len(named.Path) > 1 || named.Path[0].Text != column {
			continue
		}
		texts := []string{}
		for _, value := range values {
			text, ok := value.(*syntax.Text)
			if !ok {
				texts = nil
				break
			}
			texts = append(texts, text.Value)
		}
		if texts != nil {
			return texts
		}
	}
	return nil
}

// asks reports whether rows of a schema may be among those that are asked for, and within whether rows of schemas within it
// may be.
func (r *reading) asks(namespace []string) (itself, within bool) {
	name := schemaName(namespace)
	prefix := name + protocol.DefaultDelimiter
	if name == "" {
		prefix = ""
	}
	for _, schema := range r.schemas {
		itself = itself || schema == name
		within = within || schema != name && strings.HasPrefix(schema, prefix)
	}
	return itself || r.schemas == nil, within || r.schemas == nil
}

// schemaName returns the name of the schema that a namespace is, as drivers know it.
func schemaName(namespace []string) string { return strings.Join(namespace, protocol.DefaultDelimiter) }
