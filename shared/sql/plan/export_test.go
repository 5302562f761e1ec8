package plan

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/meter"
)

// InSlicesOf returns the same expression, evaluated in slices of the given number of rows.
func (b *Bound) InSlicesOf(rows int) *Bound {
	narrow := *b
	narrow.slice = rows
	return &narrow
}

// ColumnCount returns the number of columns that the expression reads.
func (b *Bound) ColumnCount() int { return len(b.columns) }

// EvalWithConstants is Eval for the rows that count, nil being all, but some of the columns,
// which are given by the bits of a number, are constants with the values of a row.
func (b *Bound) EvalWithConstants(rec arrow.RecordBatch, constants int, row int64, rows column.Bitset) (arrow.Array, error) {
	f := frame{m: meter.New(context.Background()), n: int(rec.NumRows()), arrs: rec.Columns(), cols: map[int]column.Vec{}, consts: map[*expr.Node]column.Vec{}}
	for i, c := range b.columns {
		if constants>>i&1 == 0 {
			continue
		}
		v, err := column.Load(nil, array.NewSlice(rec.Column(c), row, row+1))
		if err != nil {
			return nil, err
		}
		v.Const = true
		f.cols[c] = v
	}
	v, err := f.eval(b.root, rows)
	if err != nil {
		return nil, err
	}
	return v.Array(f.m, f.n)
}

// NoValues returns an array of a type without values.
var NoValues = column.Empty
