package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	_ "time/tzdata" // expressions name time zones; hosts of functions have no database of them

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
	"tiltyard/shared/sql"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// A resolver is a way to bind an expression: [plan.Bind], or one like it.
type resolver func(ctx context.Context, e syntax.Expr, columns *arrow.Schema, now time.Time) (*plan.Bound, error)

// bind parses an SQL expression and resolves it with resolve against the columns of a
// table and its row columns. what names the field of the request that holds it.
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

// where makes a filter out of a condition; an empty one is nil, which keeps all rows.
func where(ctx context.Context, what, sql string, d *dataset.Dataset) (*dataset.Where, error) {
	if sql == "" {
		return nil, nil
	}
	return whereFound(ctx, what, sql, d, "")
}

// whereFound makes a filter of what a search has found, which may ask for what the search
// says of a row, too: a column named scored, which is none of those that the filter reads
// but one that is added to them.
func whereFound(ctx context.Context, what, sql string, d *dataset.Dataset, scored string) (*dataset.Where, error) {
	bound, err := bind(ctx, what, sql, d, scoredSchema(d, scored), plan.BindFilter)
	if err != nil {
		return nil, wrongFilter(err)
	}
	return &dataset.Where{
		Columns: slices.DeleteFunc(append([]string{}, bound.Columns()...), func(name string) bool { return name == scored }),
		Select: func(ctx context.Context, batch arrow.RecordBatch, among []uint64) ([]int32, error) {
			rows, err := bound.Select(ctx, batch, among)
			return rows, sqlError(what, err)
		},
	}, nil
}

// wrongFilter makes an unknown column in a condition, or an update, a mistake in that, as native Lance has it:
// it is what was written that is wrong, and not a column that is asked for.
func wrongFilter(err error) error {
	var known *protocol.Error
	if !errors.As(err, &known) || known.Code != protocol.TableColumnNotFound {
		return err
	}
	wrong := *known
	wrong.Code = protocol.InvalidInput
	return &wrong
}

// scoredSchema returns the columns of the table and the one that a search adds, which has no
// name if there is none.
func scoredSchema(d *dataset.Dataset, scored string) *arrow.Schema {
	if scored == "" {
		return d.ScanSchema()
	}
	return arrow.NewSchema(append(slices.Clone(d.ScanSchema().Fields()), scoreField(scored)), nil)
}

// scoreField is the column that a search adds.
func scoreField(name string) arrow.Field {
	return arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Float32, Nullable: true}
}

// withScore adds what the search says of each row to what was read of the rows.
func withScore(read arrow.RecordBatch, name string, scores arrow.Array) arrow.RecordBatch {
	schema := arrow.NewSchema(append(slices.Clone(read.Schema().Fields()), scoreField(name)), nil)
	return array.NewRecordBatch(schema, append(slices.Clone(read.Columns()), scores), read.NumRows())
}

// sqlError words what is wrong with an expression of the request.
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
