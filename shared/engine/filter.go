package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	_ "time/tzdata" // expressions name time zones, and the hosts of functions have no zone database

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/engine/narrow"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
	"tiltyard/shared/sql"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// A resolver binds an expression: [plan.Bind], or a function like it.
type resolver func(ctx context.Context, e syntax.Expr, columns *arrow.Schema, now time.Time) (*plan.Bound, error)

// bind parses an SQL expression and resolves it against the columns of a table and its row columns.
// what is the name of the request's field in error messages.
func bind(ctx context.Context, what, sql string, d *dataset.Dataset, table *arrow.Schema, resolve resolver) (*plan.Bound, error) {
	expr, err := syntax.Parse(sql)
	if err != nil {
		return nil, sqlError(what, err)
	}
	fields := append(slices.Clone(table.Fields()), dataset.RowColumns()...)
	bound, err := resolve(ctx, expr, arrow.NewSchema(fields, nil), d.Now())
	if err != nil {
		return nil, sqlError(what, err)
	}
	return bound, nil
}

// A filter is a condition on rows of a version.
type filter struct {
	*dataset.Where                   // nil: it keeps all rows
	bound          *plan.Bound       // nil with Where
	narrowing      *narrow.Narrowing // by indices; may be nil
}

// newFilter makes a filter out of a condition; an empty one keeps all rows.
func (e *Engine) newFilter(ctx context.Context, what, sql string, d *dataset.Dataset) (filter, error) {
	if sql == "" {
		return filter{}, nil
	}
	bound, err := bind(ctx, what, sql, d, d.ScanSchema(), plan.BindFilter)
	if err != nil {
		return filter{}, wrongFilter(err)
	}
	f := filter{Where: whereBound(what, bound, ""), bound: bound}
	f.narrowing, err = narrow.New(d, bound, narrow.Policy{Bytes: e.limits.indexBytes, Share: e.limits.indexShare, Warn: e.warn})
	return f, err
}

// options are those of a scan of columns of the rows that pass.
func (f filter) options(columns []string) dataset.ScanOptions {
	opts := dataset.ScanOptions{Columns: columns, Where: f.Where}
	if f.narrowing != nil {
		opts.Among = f.narrowing.Candidates
	}
	return opts
}

// whereFound makes a filter for found rows. It may also refer to the distance or score of a row, in
// a column named scored. That column is not read from the table but added to the columns that the
// filter reads.
func whereFound(ctx context.Context, what, sql string, d *dataset.Dataset, scored string) (*dataset.Where, error) {
	bound, err := bind(ctx, what, sql, d, scoredSchema(d, scored), plan.BindFilter)
	if err != nil {
		return nil, wrongFilter(err)
	}
	return whereBound(what, bound, scored), nil
}

func whereBound(what string, bound *plan.Bound, scored string) *dataset.Where {
	return &dataset.Where{
		Columns: slices.DeleteFunc(append([]string{}, bound.Columns()...), func(name string) bool { return name == scored }),
		Select: func(ctx context.Context, batch arrow.RecordBatch, among []uint64) ([]int32, error) {
			rows, err := bound.Select(ctx, batch, among)
			return rows, sqlError(what, err)
		},
	}
}

// wrongFilter turns the error for an unknown column in a condition or an update into InvalidInput,
// as native Lance does: the expression is wrong, rather than a requested column missing.
func wrongFilter(err error) error {
	var known *protocol.Error
	if !errors.As(err, &known) || known.Code != protocol.TableColumnNotFound {
		return err
	}
	wrong := *known
	wrong.Code = protocol.InvalidInput
	return &wrong
}

// scoredSchema returns the columns of the table and the column that a search adds.
func scoredSchema(d *dataset.Dataset, scored string) *arrow.Schema {
	return arrow.NewSchema(append(slices.Clone(d.ScanSchema().Fields()), scoreField(scored)), nil)
}

// scoreField is the column that a search adds.
func scoreField(name string) arrow.Field {
	return arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Float32, Nullable: true}
}

// withScore adds the distance or score of each row to a batch.
func withScore(read arrow.RecordBatch, name string, scores arrow.Array) arrow.RecordBatch {
	schema := arrow.NewSchema(append(slices.Clone(read.Schema().Fields()), scoreField(name)), nil)
	return array.NewRecordBatch(schema, append(slices.Clone(read.Columns()), scores), read.NumRows())
}

// sqlError turns an error of an expression into a protocol error.
func sqlError(what string, err error) error {
	if err == nil {
		return nil
	}
	var bad *sql.Error
	if !errors.As(err, &bad) {
		return err
	}
	code := protocol.InvalidInput
	switch {
	case errors.Is(err, sql.ErrUnsupported):
		code = protocol.Unsupported
	case errors.Is(err, sql.ErrUnknownColumn):
		code = protocol.TableColumnNotFound
	}
	return &protocol.Error{Code: code, Message: fmt.Sprintf("%s: %s", what, bad.Error()), Err: err}
}
