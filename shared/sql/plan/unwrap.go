package plan

import (
	"bytes"
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/cast"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/datetime"
	"tiltyard/shared/sql/internal/expr"
)

// unwrapComparison moves a cast from the column to the literal of a comparison, if the
// literal can be converted to the type of the column: CAST(x AS bigint) = 5 becomes x = 5.
//
//	CAST(i32 AS bigint) > 5           i32 > 5
//	CAST(dec AS int) = 2              dec = 2.00
//	CAST(i32 AS string) = '5'         i32 = 5, but not '05', nor with < or >
//	CAST(ts_us AS timestamp(9)) < …   ts_us < … cut off to microseconds
//	CAST(f64 AS int) = 2              stays, as do all floats
//	CAST(ts AS date) = …              stays, as do dates and timestamps
//
// This is DataFusion's rule, which ignores the effect of the cast on the value. So
// CAST(price AS int) = 2 finds a decimal price of 2.00 and not 2.10, a cast that would be
// out of range does not fail, and a literal with finer units than a column of timestamps is
// truncated.
func unwrapComparison(n *expr.Node) *expr.Node {
	for i, c := range n.Args {
		if c.Op != expr.OpCast || n.Args[1-i].Op != expr.OpLit {
			continue
		}
		x, lit := c.Args[0], n.Args[1-i]
		v, ok := literalAsText(lit.Value, x.Type, n.Op)
		if !ok {
			v, ok = literalBefore(lit.Value, x.Type)
		}
		if !ok {
			return n
		}
		op := n.Op
		if i == 1 {
			op = swapped[op]
		}
		return n.Binary(op, column.TypeBool, x, expr.Literal(v, lit.Pos))
	}
	return n
}

// unwrapIn removes the cast from an IN test, if all items of the list can be converted to the type below
// the cast.
func unwrapIn(n *expr.Node) *expr.Node {
	c := n.Args[0]
	if c.IsNullLiteral() {
		return expr.Literal(column.Null(column.TypeBool), n.Pos)
	}
	if c.Op != expr.OpCast {
		return n
	}
	x := c.Args[0]
	args := []*expr.Node{x}
	for _, a := range n.Args[1:] {
		if a.Op != expr.OpLit {
			return n
		}
		v, ok := literalBefore(a.Value, x.Type)
		if !ok {
			return n
		}
		args = append(args, expr.Literal(v, a.Pos))
	}
	return n.With(args...)
}

// literalAsText converts a string to an integer. The string is compared for equality with
// an integer that is cast to a string, and must be the canonical form of a number.
func literalAsText(v column.Vec, to arrow.DataType, op expr.Op) (column.Vec, bool) {
	if !column.IsString(v.Type) || v.IsNull(0) || !column.IsInteger(to) || op != expr.OpEq && op != expr.OpNe {
		return column.Vec{}, false
	}
	number, err := cast.Vec(nil, v, to, nil, false)
	if err != nil {
		return column.Vec{}, false
	}
	back, err := cast.Vec(nil, number, v.Type, nil, false)
	return number, err == nil && bytes.Equal(back.AppendKey(nil, 0), v.AppendKey(nil, 0))
}

// unwrappable reports whether the rule applies to a type.
func unwrappable(t arrow.DataType) bool {
	return column.IsInteger(t) || column.IsDate(t) || column.IsTimestamp(t) || t.ID() == arrow.DECIMAL128 || column.IsString(t) ||
		t.ID() == arrow.BINARY || t.ID() == arrow.FIXED_SIZE_BINARY
}

// literalBefore converts a literal to the type before the cast. Only the units of
// timestamps may be lost.
func literalBefore(v column.Vec, to arrow.DataType) (column.Vec, bool) {
	from := v.Type
	switch {
	case !unwrappable(from) || !unwrappable(to):
		return column.Vec{}, false
	case v.IsNull(0):
		return column.Null(to), true
	case column.IsString(from) && column.IsString(to):
		return column.Constant(to, v.Data), true
	case column.IsString(from) || column.IsString(to):
		return column.Vec{}, false
	case column.IsBinary(from) || column.IsBinary(to):
		fixed, ok := to.(*arrow.FixedSizeBinaryType)
		if !ok || from.ID() != arrow.BINARY || len(v.Data.(column.Text).At(0)) != fixed.ByteWidth {
			return column.Vec{}, false
		}
		return column.Constant(to, v.Data), true
	case column.IsDate(from) && (column.IsDate(to) || column.IsTimestamp(to)), column.IsTimestamp(from) && column.IsDate(to):
		return column.Vec{}, false
	case column.IsTimestamp(from) && column.IsTimestamp(to):
		return timestampBefore(v, to), true
	}
	return integerBefore(v, to)
}

// integerBefore converts between types that are stored as integers, with the scale of
// decimals.
func integerBefore(v column.Vec, to arrow.DataType) (column.Vec, bool) {
	scale := func(t arrow.DataType) int32 {
		if !column.IsDecimal(t) {
			return 0
		}
		_, s := column.PrecisionScale(t)
		return s
	}
	x, _ := v.Integer(0)
	if up := scale(to) - scale(v.Type); up >= 0 {
		x.Mul(x, column.Pow10(up))
	} else {
		rest := new(big.Int)
		if x.QuoRem(x, column.Pow10(-up), rest); rest.Sign() != 0 {
			return column.Vec{}, false
		}
	}
	out := column.Constant(to, column.Zeros(to, 1))
	if column.IsDecimal(to) {
		precision, _ := column.PrecisionScale(to)
		column.SetDecimal(out.Data, 0, x)
		return out, column.DigitsFit(x, precision)
	}
	low, high := column.IntegerRange(to)
	if x.Cmp(low) < 0 || x.Cmp(high) > 0 {
		return column.Vec{}, false
	}
	column.SetInteger(out.Data, 0, x)
	return out, true
}

// timestampBefore converts the unit of a timestamp and truncates. A value out of range
// becomes NULL.
func timestampBefore(v column.Vec, to arrow.DataType) column.Vec {
	ticks := v.Data.([]int64)[0]
	from, per := datetime.PerSecond(column.UnitOf(v.Type)), datetime.PerSecond(column.UnitOf(to))
	if from >= per {
		return column.Constant(to, []int64{ticks / (from / per)})
	}
	x := new(big.Int).Mul(big.NewInt(ticks), big.NewInt(per/from))
	if !x.IsInt64() || x.Int64() == math.MinInt64 {
		return column.Null(to)
	}
	return column.Constant(to, []int64{x.Int64()})
}
