package plan

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/cast"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
)

// resolve gives a literal beside a column the type of the column, but only at the top of an expression and
// below AND and OR there. So small = 0.1 compares two float32, and small_int = 3.5 is an error, while NOT
// (small = 0.1) and NOT (small_int = 3.5) compare float64.
//
// A literal beside a column can become:
//
//	int64     any number it fits, decimals too; time32 as ticks
//	uint64    any integer it fits, floats
//	float64   floats; a half unless it would become infinite or zero
//	string    strings          binary   binaries, of fixed size if the length is right
//	bool      bool             NULL     anything
//
// Everything else is an error: a date or a timestamp must be written with its type.
//
// These are the rules of native Lance (logical_expr.rs and expr.rs of its crate lance-datafusion).
func resolve(n *expr.Node) (*expr.Node, error) {
	switch {
	case n.Op == expr.OpAnd || n.Op == expr.OpOr:
		l, err := resolve(n.Args[0])
		if err != nil {
			return nil, err
		}
		r, err := resolve(n.Args[1])
		if err != nil {
			return nil, err
		}
		return n.With(l, r), nil
	case n.Op == expr.OpBetween && isColumn(n.Args[0]):
		return resolveAll(n)
	case n.Op == expr.OpIn && n.Args[0].Op == expr.OpCol:
		return resolveAll(n)
	case n.Op.IsComparison() || n.Op.IsArithmetic() || n.Op == expr.OpConcat || n.Op.IsBitwise():
		return resolveBinary(n)
	}
	return n, nil
}

// resolveBinary checks the left side first. If both sides are columns, neither is a
// literal.
func resolveBinary(n *expr.Node) (*expr.Node, error) {
	l, r := n.Args[0], n.Args[1]
	switch {
	case isColumn(l):
		if !isLiteralOrCast(r) && !isLiteralArithmetic(r) {
			return n, nil
		}
		r, err := literalAs(r, l.Type)
		return n.With(l, r), err
	case isColumn(r) && isLiteralOrCast(l):
		l, err := literalAs(l, r.Type)
		return n.With(l, r), err
	}
	return n, nil
}

// resolveAll gives all arguments after the first the type of the first.
func resolveAll(n *expr.Node) (*expr.Node, error) {
	args := append([]*expr.Node(nil), n.Args...)
	for i := range args[1:] {
		var err error
		if args[i+1], err = literalAs(args[i+1], n.Args[0].Type); err != nil {
			return nil, err
		}
	}
	return n.With(args...), nil
}

// isColumn reports whether the node is a column or a struct member.
func isColumn(n *expr.Node) bool {
	for n.Op == expr.OpMember {
		n = n.Args[0]
	}
	return n.Op == expr.OpCol
}

func isLiteralOrCast(n *expr.Node) bool { return n.Op == expr.OpLit || n.Op == expr.OpCast && !n.Try }

// isLiteralArithmetic reports whether the node is an operation on nothing but literals.
func isLiteralArithmetic(n *expr.Node) bool {
	if !n.Op.IsArithmetic() && n.Op != expr.OpConcat {
		return false
	}
	for _, a := range n.Args {
		if a.Op != expr.OpLit && !isLiteralArithmetic(a) {
			return false
		}
	}
	return true
}

// literalAs converts the literals in n to a type. Other nodes stay unchanged.
func literalAs(n *expr.Node, typ arrow.DataType) (*expr.Node, error) {
	switch {
	case n.Op == expr.OpLit:
		v, ok := literalOf(n.Value, typ)
		if !ok {
			return nil, sql.Errorf(sql.ErrType, n.Pos, "literal of type %s cannot stand for %s (write CAST(… AS …))", n.Type, typ)
		}
		return expr.Literal(v, n.Pos), nil
	case n.Op == expr.OpCast && !n.Try:
		return narrowFloat(n, typ), nil
	case len(n.Args) == 2 && (n.Op <= expr.OpShiftRight && n.Op >= expr.OpAnd):
		l, err := literalAs(n.Args[0], typ)
		if err != nil {
			return nil, err
		}
		r, err := literalAs(n.Args[1], typ)
		return n.With(l, r), err
	}
	return n, nil
}

// narrowFloat replaces a literal that is cast to float64 by a float32 literal, if the column has that type
// and the value does not change.
func narrowFloat(n *expr.Node, typ arrow.DataType) *expr.Node {
	x := n.Args[0]
	if typ.ID() != arrow.FLOAT32 || n.Type.ID() != arrow.FLOAT64 || x.Op != expr.OpLit {
		return n
	}
	v, err := cast.Vec(nil, x.Value, n.Type, nil, false)
	if err != nil {
		return n
	}
	if v.IsNull(0) {
		return expr.Literal(column.Null(typ), n.Pos)
	}
	f := v.Data.([]float64)[0]
	if math.Float64bits(float64(float32(f))) != math.Float64bits(f) {
		return n
	}
	return expr.Literal(column.Constant(typ, []float32{float32(f)}), n.Pos)
}

// literalOf converts a planned literal to the type of a column. It fails if more than the precision of a
// float is lost.
func literalOf(v column.Vec, typ arrow.DataType) (column.Vec, bool) {
	if v.Type.ID() == arrow.NULL || v.Type.ID() == arrow.INTERVAL_MONTH_DAY_NANO {
		return v, true
	}
	switch d := v.Data.(type) {
	case []int64:
		switch {
		case column.IsInteger(typ), column.IsDecimal(typ):
			return castLiteral(v, typ)
		case column.IsFloat(typ):
			return floatLiteral(float64(d[0]), float32(d[0]), typ)
		case typ.ID() == arrow.TIME32 && math.MinInt32 <= d[0] && d[0] <= math.MaxInt32:
			return column.Constant(typ, []int32{int32(d[0])}), true
		}
	case []uint64:
		switch {
		case column.IsInteger(typ):
			return castLiteral(v, typ)
		case column.IsFloat(typ):
			return floatLiteral(float64(d[0]), float32(d[0]), typ)
		}
	case []float64:
		if column.IsFloat(typ) {
			return floatLiteral(d[0], float32(d[0]), typ)
		}
	case column.Bitset:
		return v, typ.ID() == arrow.BOOL
	case column.Text:
		return textLiteral(v, d, typ)
	case column.Lists:
		if column.IsSimpleList(typ) && cast.Possible(v.Type, typ) {
			return castLiteral(v, typ)
		}
	}
	return column.Vec{}, false
}

// textLiteral changes the width of offsets, and the kind of a binary if its length is
// right.
func textLiteral(v column.Vec, t column.Text, typ arrow.DataType) (column.Vec, bool) {
	ok := column.IsString(v.Type) && column.IsString(typ)
	if column.IsBinary(v.Type) {
		switch typ := typ.(type) {
		case *arrow.BinaryType, *arrow.LargeBinaryType:
			ok = true
		case *arrow.FixedSizeBinaryType:
			ok = len(t.At(0)) == typ.ByteWidth
		}
	}
	return column.Constant(typ, t), ok
}

func castLiteral(v column.Vec, typ arrow.DataType) (column.Vec, bool) {
	out, err := cast.Vec(nil, v, typ, nil, false)
	return out, err == nil
}

// floatLiteral returns a float of any width. It fails if rounding to float16 would turn a finite number
// into infinity, or a nonzero number into zero.
func floatLiteral(f float64, narrow float32, typ arrow.DataType) (column.Vec, bool) {
	switch typ.ID() {
	case arrow.FLOAT64:
		return column.Constant(typ, []float64{f}), true
	case arrow.FLOAT32:
		return column.Constant(typ, []float32{narrow}), true
	}
	h := column.HalfOf(f)
	overflow := h&0x7fff == 0x7c00 && !math.IsInf(f, 0)
	underflow := h&0x7fff == 0 && f != 0
	return column.Constant(typ, []column.Half{h}), !overflow && !underflow
}
