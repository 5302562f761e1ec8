package sqlexpr

import (
	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
)

// decimalArithmetic applies an operator to decimals of one width. For sums and remainders
// both are brought to the scale of the result, for quotients the dividend is scaled up by
// what the result has more than their own scales give. It fails where the result leaves the
// width; the number of digits that the type promises is not checked.
func decimalArithmetic(op opcode, typ arrow.DataType, l, r vec, rows bitset, n int) (any, error) {
	_, s1 := precisionScale(l.typ)
	_, s2 := precisionScale(r.typ)
	_, scale := precisionScale(typ)
	mulL, mulR := pow10(scale-min(scale, s1)), pow10(scale-min(scale, s2))
	switch op {
	case opMul:
		mulL, mulR = pow10(0), pow10(0)
	case opDiv:
		mulL, mulR = pow10(max(0, scale-s1+s2)), pow10(max(0, s1-s2-scale))
	}
	low, high := integerRange(typ)
	out := zeroData(typ, n)
	var err error
	rows.each(n, func(i int) bool {
		a, _ := l.integer(i)
		b, _ := r.integer(i)
		a.Mul(a, mulL)
		b.Mul(b, mulR)
		switch op {
		case opAdd:
			a.Add(a, b)
		case opSub:
			a.Sub(a, b)
		case opMul:
			a.Mul(a, b)
		default:
			if b.Sign() == 0 {
				err = sql.Errorf(sql.ErrValue, sql.NoPos, "division by zero")
				return false
			}
			if op == opDiv {
				a.Quo(a, b)
			} else {
				a.Rem(a, b)
			}
		}
		if a.Cmp(low) < 0 || a.Cmp(high) > 0 {
			err = sql.Errorf(sql.ErrValue, sql.NoPos, "decimal overflow")
			return false
		}
		setDecimal(out, i, a)
		return true
	})
	return out, err
}
