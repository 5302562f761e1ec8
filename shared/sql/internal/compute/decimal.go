package compute

import (
	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
)

// decimalArithmetic applies an operator to decimals of one width. For sums and remainders
// it brings both operands to the scale of the result; for quotients it scales the dividend
// up by the missing digits. It fails if the result does not fit in the width. It does not
// check the precision of the type.
func decimalArithmetic(op expr.Op, typ arrow.DataType, l, r column.Vec, rows column.Bitset, n int) (any, error) {
	_, s1 := column.PrecisionScale(l.Type)
	_, s2 := column.PrecisionScale(r.Type)
	_, scale := column.PrecisionScale(typ)
	mulL, mulR := column.Pow10(scale-min(scale, s1)), column.Pow10(scale-min(scale, s2))
	switch op {
	case expr.OpMul:
		mulL, mulR = column.Pow10(0), column.Pow10(0)
	case expr.OpDiv:
		mulL, mulR = column.Pow10(max(0, scale-s1+s2)), column.Pow10(max(0, s1-s2-scale))
	}
	low, high := column.IntegerRange(typ)
	out := column.Zeros(typ, n)
	var err error
	rows.Each(n, func(i int) bool {
		a, _ := l.Integer(i)
		b, _ := r.Integer(i)
		a.Mul(a, mulL)
		b.Mul(b, mulR)
		switch op {
		case expr.OpAdd:
			a.Add(a, b)
		case expr.OpSub:
			a.Sub(a, b)
		case expr.OpMul:
			a.Mul(a, b)
		default:
			if b.Sign() == 0 {
				err = sql.Errorf(sql.ErrValue, sql.NoPos, "division by zero")
				return false
			}
			if op == expr.OpDiv {
				a.Quo(a, b)
			} else {
				a.Rem(a, b)
			}
		}
		if a.Cmp(low) < 0 || a.Cmp(high) > 0 {
			err = sql.Errorf(sql.ErrValue, sql.NoPos, "decimal overflow")
			return false
		}
		column.SetDecimal(out, i, a)
		return true
	})
	return out, err
}
