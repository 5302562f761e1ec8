package sqlexpr

import (
	"bytes"
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/clock"
)

// unwrapComparison compares what was cast with a literal in the type that it had before,
// if the literal can be converted to that type: CAST(x AS bigint) = 5 is x = 5.
//
//	CAST(i32 AS bigint) > 5           i32 > 5
//	CAST(dec AS int) = 2              dec = 2.00
//	CAST(i32 AS string) = '5'         i32 = 5, but not '05', nor with < or >
//	CAST(ts_us AS timestamp(9)) < …   ts_us < … cut off to microseconds
//	CAST(f64 AS int) = 2              stays, as do all floats
//	CAST(ts AS date) = …              stays, as do dates and timestamps
//
// This is DataFusion's rule, which takes no notice of what the cast does to the value. So
// CAST(price AS int) = 2 finds a decimal price of 2.00 and not 2.10, a cast that would fail
// for lack of range does not, and a literal with finer units than a column of timestamps is
// cut off.
func unwrapComparison(n *node) *node {
	for i, c := range n.args {
		if c.op != opCast || n.args[1-i].op != opLit {
			continue
		}
		x, lit := c.args[0], n.args[1-i]
		v, ok := literalAsText(lit.val, x.typ, n.op)
		if !ok {
			v, ok = literalBefore(lit.val, x.typ)
		}
		if !ok {
			return n
		}
		op := n.op
		if i == 1 {
			op = swapped[op]
		}
		return n.binary(op, typeBool, x, literal(v, lit.pos))
	}
	return n
}

// unwrapIn does the same for a list of literals, if all of them can be converted.
func unwrapIn(n *node) *node {
	c := n.args[0]
	if c.isNullLiteral() {
		return literal(nullVec(typeBool), n.pos)
	}
	if c.op != opCast {
		return n
	}
	x := c.args[0]
	args := []*node{x}
	for _, a := range n.args[1:] {
		if a.op != opLit {
			return n
		}
		v, ok := literalBefore(a.val, x.typ)
		if !ok {
			return n
		}
		args = append(args, literal(v, a.pos))
	}
	return n.with(args...)
}

// literalAsText converts a string, with which an integer cast to a string is compared for
// equality, to the integer, if it is the way to write it.
func literalAsText(v vec, to arrow.DataType, op opcode) (vec, bool) {
	if !isString(v.typ) || v.isNull(0) || !isInteger(to) || op != opEq && op != opNe {
		return vec{}, false
	}
	number, err := castVec(nil, v, to, nil, false)
	if err != nil {
		return vec{}, false
	}
	back, err := castVec(nil, number, v.typ, nil, false)
	return number, err == nil && bytes.Equal(back.appendKey(nil, 0), v.appendKey(nil, 0))
}

// unwrappable reports whether the rule knows the type.
func unwrappable(t arrow.DataType) bool {
	return isInteger(t) || isDate(t) || isTimestamp(t) || t.ID() == arrow.DECIMAL128 || isString(t) ||
		t.ID() == arrow.BINARY || t.ID() == arrow.FIXED_SIZE_BINARY
}

// literalBefore converts a literal to the type before the cast, without loss but for the
// units of timestamps.
func literalBefore(v vec, to arrow.DataType) (vec, bool) {
	from := v.typ
	switch {
	case !unwrappable(from) || !unwrappable(to):
		return vec{}, false
	case v.isNull(0):
		return nullVec(to), true
	case isString(from) && isString(to):
		return constant(to, v.data), true
	case isString(from) || isString(to):
		return vec{}, false
	case isBinary(from) || isBinary(to):
		fixed, ok := to.(*arrow.FixedSizeBinaryType)
		if !ok || from.ID() != arrow.BINARY || len(v.data.(text).at(0)) != fixed.ByteWidth {
			return vec{}, false
		}
		return constant(to, v.data), true
	case isDate(from) && (isDate(to) || isTimestamp(to)), isTimestamp(from) && isDate(to):
		return vec{}, false
	case isTimestamp(from) && isTimestamp(to):
		return timestampBefore(v, to), true
	}
	return integerBefore(v, to)
}

// integerBefore converts between what is stored as integers, with the scale of decimals.
func integerBefore(v vec, to arrow.DataType) (vec, bool) {
	scale := func(t arrow.DataType) int32 {
		if !isDecimal(t) {
			return 0
		}
		_, s := precisionScale(t)
		return s
	}
	x, _ := v.integer(0)
	if up := scale(to) - scale(v.typ); up >= 0 {
		x.Mul(x, pow10(up))
	} else {
		rest := new(big.Int)
		if x.QuoRem(x, pow10(-up), rest); rest.Sign() != 0 {
			return vec{}, false
		}
	}
	out := constant(to, zeroData(to, 1))
	if isDecimal(to) {
		precision, _ := precisionScale(to)
		setDecimal(out.data, 0, x)
		return out, digitsFit(x, precision)
	}
	low, high := integerRange(to)
	if x.Cmp(low) < 0 || x.Cmp(high) > 0 {
		return vec{}, false
	}
	setInteger(out.data, 0, x)
	return out, true
}

// timestampBefore converts the units of a timestamp, cutting off; out of range it is NULL.
func timestampBefore(v vec, to arrow.DataType) vec {
	ticks := v.data.([]int64)[0]
	from, per := clock.PerSecond(unitOf(v.typ)), clock.PerSecond(unitOf(to))
	if from >= per {
		return constant(to, []int64{ticks / (from / per)})
	}
	x := new(big.Int).Mul(big.NewInt(ticks), big.NewInt(per/from))
	if !x.IsInt64() || x.Int64() == math.MinInt64 {
		return nullVec(to)
	}
	return constant(to, []int64{x.Int64()})
}
