package engine

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
	"tiltyard/shared/sqlexpr"
)

// bind parses an SQL expression and resolves it against the columns of a table and its
// row columns. what names the field of the request that holds it.
func bind(what, sql string, table *arrow.Schema) (*sqlexpr.Bound, error) {
	expr, err := sqlexpr.Parse(sql)
	if err != nil {
		return nil, sqlError(what, err)
	}
	return bindExpr(what, expr, table)
}

func bindExpr(what string, expr sqlexpr.Expr, table *arrow.Schema) (*sqlexpr.Bound, error) {
	fields := append([]arrow.Field(nil), table.Fields()...)
	bound, err := sqlexpr.Bind(expr, arrow.NewSchema(append(fields, dataset.RowColumns()...), nil))
	if err != nil {
		return nil, sqlError(what, err)
	}
	return bound, nil
}

// where makes a filter out of a condition; an empty one is nil, which keeps all rows.
func where(what, sql string, d *dataset.Dataset) (*dataset.Where, error) {
	if sql == "" {
		return nil, nil
	}
	bound, err := bind(what, sql, d.ArrowSchema())
	if err != nil {
		return nil, err
	}
	if t := bound.Type().ID(); t != arrow.BOOL && t != arrow.NULL {
		return nil, protocol.Errorf(protocol.InvalidInput, "%s must be a condition, true or false for each row; it is of type %s", what, bound.Type())
	}
	return &dataset.Where{
		Columns: append([]string{}, bound.Columns()...),
		Select: func(batch arrow.RecordBatch) ([]int32, error) {
			rows, err := bound.Select(batch, nil)
			return rows, sqlError(what, err)
		},
	}, nil
}

// sqlError words what is wrong with an expression of the request.
func sqlError(what string, err error) error {
	if err == nil {
		return nil
	}
	var bad *sqlexpr.Error
	if !errors.As(err, &bad) {
		return err
	}
	code := protocol.InvalidInput
	switch {
	case errors.Is(err, sqlexpr.ErrUnsupported):
		code = protocol.Unsupported
	case errors.Is(err, sqlexpr.ErrUnknownColumn):
		code = protocol.TableColumnNotFound
	}
	return &protocol.Error{Code: code, Message: fmt.Sprintf("%s: %s", what, bad.Error()), Err: err}
}
