package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"
	_ "time/tzdata" // expressions name time zones; hosts of functions have no database of them

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
	"tiltyard/shared/sqlexpr"
)

// A resolver is a way to bind an expression: [sqlexpr.Bind], or one like it.
type resolver func(e sqlexpr.Expr, columns *arrow.Schema, now time.Time) (*sqlexpr.Bound, error)

// bind parses an SQL expression and resolves it with resolve against the columns of a
// table and its row columns. what names the field of the request that holds it.
func bind(what, sql string, d *dataset.Dataset, table *arrow.Schema, resolve resolver) (*sqlexpr.Bound, error) {
	expr, err := sqlexpr.Parse(sql)
	if err != nil {
		return nil, sqlError(what, err)
	}
	fields := append(slices.Clone(table.Fields()), dataset.RowColumns()...)
	bound, err := resolve(expr, arrow.NewSchema(fields, nil), d.Now())
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
	bound, err := bind(what, sql, d, d.ScanSchema(), sqlexpr.BindFilter)
	if err != nil {
		return nil, err
	}
	return &dataset.Where{
		Columns: append([]string{}, bound.Columns()...),
		Select: func(batch arrow.RecordBatch, among []uint64) ([]int32, error) {
			rows, err := bound.Select(batch, among)
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
