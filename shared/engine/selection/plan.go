package selection

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// Column names that a view must not define, because materialized views use them.
const (
	SourceRowID = "__source_row_id" // the row id of the row of the source
	rowID       = "_rowid"
	inputPrefix = "__input_" // columns that computed columns of a view read
)

// ChildIndex is the column that numbers the values of a source row from 0, in a query with spread values.
const ChildIndex = "__child_index"

// ordinal is the field of the values of functions with that number.
const ordinal = "ordinal"

// A Plan is a query resolved over the columns of its source. It is safe for concurrent use.
type Plan struct {
	Query   *Query         // as it is stored, with * expanded
	Each    *Expansion     // nil if a source row gives at most one row
	Columns []*plan.Bound  // the values of the columns of Query, over the rows that Each makes
	Filter  *plan.Bound    // condition on those rows; nil: all of them
	Groups  *plan.Grouping // the groups over which Columns are evaluated; nil without GROUP BY
	Schema  *arrow.Schema  // of the answer, with the metadata that describes its columns
	Inputs  []string       // the columns of the source that are read, in its order
}

// Plan resolves a query over the columns of its source. * stands for all columns except __source_row_id,
// which a source that is itself a view has.
//
// A result column that is a source column has its nullability. One that is a path in a source column has
// the metadata of the source field, except for the metadata on storage and computation. All other columns
// are nullable.
//
// Errors are *sql.Error. Volatile functions such as now, duplicate names, and the names that materialized
// views reserve are refused.
func (q *Query) Plan(ctx context.Context, source *arrow.Schema) (*Plan, error) {
	if q.Limit != nil && *q.Limit > math.MaxInt64 {
		return nil, refused("LIMIT %d is more than %d", *q.Limit, math.MaxInt64)
	}
	if q.GroupBy != nil {
		return q.planGroups(ctx, source)
	}
	p := &Plan{Query: &Query{Source: q.Source, Each: q.Each, Limit: q.Limit, Spread: q.Spread}}
	rows, read := source, map[string]bool{}
	if q.Each != nil {
		var err error
		if p.Each, err = q.Each.plan(ctx, source); err != nil {
			return nil, err
		}
		if q.Limit != nil {
			return nil, refused("LIMIT together with UNNEST or a function in FROM")
		}
		rows = p.Each.Rows
	}
	columns, err := q.columns(p.Each, rows)
	if err != nil {
		return nil, err
	}
	var fields []arrow.Field
	seen := map[string]bool{}
	lineage := lineage{}
	for _, c := range columns {
		if err := checkName(c.Name, seen); err != nil {
			return nil, err
		}
		text, bound, err := bind(ctx, c.Expr, rows, plan.Bind)
		if err != nil {
			return nil, err
		}
		p.Query.Columns = append(p.Query.Columns, Column{Name: c.Name, Expr: text})
		p.Columns = append(p.Columns, bound)
		fields = append(fields, outputField(c.Name, bound, rows))
		lineage.add(bound, c.Name)
		for _, name := range bound.Columns() {
			read[name] = true
		}
	}
	if err := p.planFilter(ctx, q.Filter, rows, read); err != nil {
		return nil, err
	}
	// Beside contains only the columns of expressions: the inputs of the values are read, but not repeated
	// in each row.
	if p.Each != nil {
		for _, f := range source.Fields() {
			if read[f.Name] {
				p.Each.Beside = append(p.Each.Beside, f.Name)
			}
		}
		for _, name := range p.Each.inputs() {
			read[name] = true
		}
	}
	p.readOf(source, read)
	metadata := lineage.metadata(source, fields)
	p.Schema = arrow.NewSchema(fields, &metadata)
	return p, nil
}

// planFilter resolves a condition over rows, and notes which of their columns it reads.
func (p *Plan) planFilter(ctx context.Context, filter string, rows *arrow.Schema, read map[string]bool) (err error) {
	if filter == "" {
		return nil
	}
	if p.Query.Filter, p.Filter, err = bind(ctx, filter, rows, plan.BindFilter); err != nil {
		return err
	}
	for _, name := range p.Filter.Columns() {
		read[name] = true
	}
	return nil
}

// readOf makes columns of the source the inputs.
func (p *Plan) readOf(source *arrow.Schema, read map[string]bool) {
	for _, f := range source.Fields() {
		if read[f.Name] {
			p.Inputs = append(p.Inputs, f.Name)
		}
	}
}

// checkName returns an error for a name that a column of the answer cannot have.
func checkName(name string, seen map[string]bool) error {
	switch {
	case seen[name]:
		return refused("two columns have the name %q", name)
	case isReserved(name):
		return refused("the name %q of a column is reserved", name)
	}
	seen[name] = true
	return nil
}

// columns returns the columns of the answer, over the rows that x makes.
func (q *Query) columns(x *Expansion, rows *arrow.Schema) ([]Column, error) {
	columns := slices.Clone(q.Columns)
	if columns == nil {
		for _, f := range rows.Fields() {
			if f.Name != SourceRowID && !(q.Spread && f.Name == q.Each.Name) {
				columns = append(columns, Column{Name: f.Name, Expr: syntax.Identifier(f.Name)})
			}
		}
	}
	if q.Spread {
		value, ok := x.Value().Type.(*arrow.StructType)
		if !ok {
			return nil, refused("the values in FROM are of type %s and not structs, so they do not have columns", x.Value().Type)
		}
		for _, f := range value.Fields() {
			if !slices.ContainsFunc(columns, func(c Column) bool { return c.Name == f.Name }) {
				columns = append(columns, Column{Name: f.Name, Expr: syntax.Identifier(q.Each.Name) + "." + syntax.Identifier(f.Name)})
			}
		}
	}
	// The position of a value distinguishes the rows of the same source row.
	if q.Spread && slices.ContainsFunc(x.Value().Type.(*arrow.StructType).Fields(), func(f arrow.Field) bool { return f.Name == ordinal }) {
		columns = append(columns, Column{Name: ChildIndex, Expr: syntax.Identifier(q.Each.Name) + "." + ordinal})
	}
	if q.Only != nil {
		columns = slices.DeleteFunc(columns, func(c Column) bool { return !slices.Contains(q.Only, c.Name) })
	}
	return columns, nil
}

// isReserved reports whether materialized views use a column name.
func isReserved(name string) bool {
	return name == SourceRowID || name == rowID || strings.HasPrefix(name, inputPrefix)
}

// bind spells an expression canonically and resolves the spelled text, because that is the text stored.
func bind(ctx context.Context, text string, source *arrow.Schema,
	resolve func(context.Context, syntax.Expr, *arrow.Schema, time.Time) (*plan.Bound, error),
) (string, *plan.Bound, error) {
	text, err := syntax.Spell(text)
	if err != nil {
		return "", nil, err
	}
	e, err := syntax.Parse(text)
	if err != nil {
		return "", nil, err
	}
	bound, err := resolve(ctx, e, source, time.Time{}) // the time is not used: its functions are refused
	if err != nil {
		return "", nil, err
	}
	if name := bound.Volatile(); name != "" {
		return "", nil, sql.Errorf(sql.ErrUnsupported, e.Pos(), "function %s in a view, where it has other values each time", name)
	}
	return text, bound, nil
}

// refused returns the error for an unsupported query.
func refused(format string, args ...any) error {
	return sql.Errorf(sql.ErrUnsupported, sql.NoPos, format, args...)
}
