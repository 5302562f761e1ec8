package condition

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine/apierror"
	"tiltyard/shared/engine/selection"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/protocol"
	"tiltyard/shared/sql"
	"tiltyard/shared/sql/plan"
)

// A Relation is the target of a query: a version of a table, or a view of it.
type Relation struct {
	*dataset.Dataset
	View *selection.Plan // over the columns of a scan; nil: the table itself
	Time time.Time       // what now() stands for in expressions; zero: the time of the clock
}

// RelationOf returns a view of a version, or the version itself if view is nil. A view that does not
// fit the version is InvalidInput.
func RelationOf(ctx context.Context, d *dataset.Dataset, view *selection.Query) (Relation, error) {
	r := Relation{Dataset: d, Time: d.Now()}
	if view == nil {
		return r, nil
	}
	if view.Each != nil {
		return r, protocol.Errorf(protocol.InvalidInput, "query of the view: UNNEST and functions in FROM are possible in materialized views only")
	}
	if view.GroupBy != nil {
		return r, protocol.Errorf(protocol.InvalidInput, "query of the view: GROUP BY is possible in materialized views only")
	}
	var err error
	r.View, err = view.Plan(ctx, d.ScanSchema())
	var bad *sql.Error
	if errors.As(err, &bad) {
		err = &protocol.Error{Code: protocol.InvalidInput, Message: "query of the view: " + err.Error(), Err: err}
	}
	return r, err
}

// Columns returns the columns that expressions can name, without row columns.
func (r Relation) Columns() *arrow.Schema {
	if r.View != nil {
		return r.View.Schema
	}
	return r.ScanSchema()
}

// Metadata returns the metadata of the relation's schema.
func (r Relation) Metadata() arrow.Metadata {
	if r.View != nil {
		return r.View.Schema.Metadata()
	}
	return r.ArrowSchema().Metadata()
}

// Bind binds an expression over the relation's columns and the added ones; see [Bind]. The bound
// expression is over the columns of the table, even for a view.
func (r Relation) Bind(ctx context.Context, what, text string, resolve Resolver, added ...arrow.Field) (*plan.Bound, error) {
	extended := func(s *arrow.Schema) *arrow.Schema {
		if added == nil {
			return s
		}
		return arrow.NewSchema(append(slices.Clone(s.Fields()), added...), nil)
	}
	bound, err := bind(ctx, what, text, r.Dataset, extended(r.Columns()), cmp.Or(r.Time, r.Now()), resolve)
	if err != nil || r.View == nil {
		return bound, err
	}
	values := make(map[string]*plan.Bound, len(r.View.Columns))
	for i, c := range r.View.Query.Columns {
		values[c.Name] = r.View.Columns[i]
	}
	source := extended(r.ScanSchema())
	bound, err = bound.Over(r.WithRowColumns(source), values)
	return bound, apierror.OfExpression(what, err)
}

// FilterText returns the combined text of the view's condition and the request's.
func (r Relation) FilterText(asked string) string {
	if r.View == nil || r.View.Filter == nil {
		return asked
	}
	if asked == "" {
		return r.View.Query.Filter
	}
	return "(" + r.View.Query.Filter + ") of the view AND (" + asked + ")"
}

// filter returns the condition of the view, or nil if it has none.
func (r Relation) filter() (*plan.Bound, error) {
	if r.View == nil || r.View.Filter == nil {
		return nil, nil
	}
	return r.View.Filter.Over(r.WithRowColumns(r.ScanSchema()), nil)
}

// Source returns the table's name of a column of the relation, or of a member of one. The error is
// TableColumnNotFound, or InvalidInput for a column that the view computes.
func (r Relation) Source(name string) (string, error) {
	if r.View == nil {
		return name, nil
	}
	c, below := r.column(name)
	// A view has the row columns of its source.
	if c == nil && slices.ContainsFunc(snapshot.RowColumns(), func(f arrow.Field) bool { return f.Name == name }) {
		return name, nil
	}
	if c == nil {
		fields := r.View.Schema.Fields()
		have := make([]string, len(fields))
		for i, f := range fields {
			have[i] = f.Name
		}
		return "", apierror.NoColumn(&snapshot.ErrNoColumn{Name: name, Have: have})
	}
	path, ok := c.Path()
	if !ok {
		return "", protocol.Errorf(protocol.InvalidInput, "column %q is computed by the view; this is possible for columns that the view has from its source as they are", name)
	}
	if path = append(path, below...); len(path) == 1 {
		return path[0], nil
	}
	return schema.FormatPath(path...), nil
}

// Computed returns the expression of a column that a view computes, and nil for other columns.
func (r Relation) Computed(name string) *plan.Bound {
	if r.View == nil {
		return nil
	}
	c, below := r.column(name)
	if c == nil || len(below) > 0 {
		return nil
	}
	if _, ok := c.Path(); ok {
		return nil
	}
	return c
}

// column returns the column of the view that a path begins with, and the names of the members below
// it.
func (r Relation) column(name string) (c *plan.Bound, below []string) {
	at := func(name string) *plan.Bound {
		i := slices.IndexFunc(r.View.Query.Columns, func(c selection.Column) bool { return c.Name == name })
		if i < 0 {
			return nil
		}
		return r.View.Columns[i]
	}
	if c := at(name); c != nil {
		return c, nil
	}
	path, err := schema.ParsePath(name)
	if err != nil {
		return nil, nil
	}
	return at(path[0]), path[1:]
}
