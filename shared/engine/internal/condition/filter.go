// Package condition binds SQL expressions to the columns of a table, and makes row filters from
// them.
package condition

import (
	"context"
	"slices"
	"time"
	_ "time/tzdata" // expressions name time zones, and the hosts of functions have no zone database

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine/apierror"
	"tiltyard/shared/engine/internal/prefilter"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// A Resolver binds an expression: [plan.Bind], or a function like it.
type Resolver func(ctx context.Context, e syntax.Expr, columns *arrow.Schema, now time.Time) (*plan.Bound, error)

// Bind parses an SQL expression and binds it to the columns of a table and its row columns. what is
// the name of the request's field in error messages.
func Bind(ctx context.Context, what, sql string, d *dataset.Dataset, table *arrow.Schema, resolve Resolver) (*plan.Bound, error) {
	return bind(ctx, what, sql, d, table, d.Now(), resolve)
}

// bind is Bind with the time that now() stands for.
func bind(ctx context.Context, what, sql string, d *dataset.Dataset, table *arrow.Schema, now time.Time, resolve Resolver) (*plan.Bound, error) {
	expr, err := syntax.Parse(sql)
	if err != nil {
		return nil, apierror.OfExpression(what, err)
	}
	bound, err := resolve(ctx, expr, d.WithRowColumns(table), now)
	if err != nil {
		return nil, apierror.OfExpression(what, err)
	}
	return bound, nil
}

// A Filter is a condition on the rows of a version.
type Filter struct {
	*snapshot.Where                      // nil keeps all rows
	Bound           *plan.Bound          // nil if Where is nil
	Narrowing       *prefilter.Narrowing // the part that indices test; may be nil
}

// New compiles a condition to a filter on the rows of a relation. An empty condition keeps all
// rows. what is the name of the request's field in error messages.
func New(ctx context.Context, what, sql string, r Relation, policy prefilter.Policy) (Filter, error) {
	bound, err := r.filter()
	if err != nil {
		return Filter{}, apierror.OfExpression("view", err)
	}
	if sql != "" {
		// The request's condition applies to the rows of the view.
		asked, err := r.Bind(ctx, what, sql, plan.BindFilter)
		if err != nil {
			return Filter{}, apierror.OfFilter(err)
		}
		if bound == nil {
			bound = asked
		} else if bound, err = bound.And(asked); err != nil {
			return Filter{}, apierror.OfExpression(what, err)
		}
	}
	if bound == nil {
		return Filter{}, nil
	}
	f := Filter{Where: Where(what, bound), Bound: bound}
	f.Narrowing, err = prefilter.New(r.Dataset, bound, policy)
	return f, err
}

// Options returns scan options for columns of the rows that pass.
func (f Filter) Options(columns []string) snapshot.ScanOptions {
	opts := snapshot.ScanOptions{Columns: columns, Where: f.Where}
	if f.Narrowing != nil {
		opts.Among = f.Narrowing.Candidates
	}
	return opts
}

// Where converts a condition to the form for scans. added are columns that the caller computes, so
// the scan does not read them.
func Where(what string, bound *plan.Bound, added ...string) *snapshot.Where {
	return &snapshot.Where{
		Columns: slices.DeleteFunc(append([]string{}, bound.Columns()...), func(name string) bool { return slices.Contains(added, name) }),
		Select: func(ctx context.Context, batch arrow.RecordBatch, among []uint64) ([]int32, error) {
			rows, err := bound.Select(ctx, batch, among)
			return rows, apierror.OfExpression(what, err)
		},
	}
}
