package sqlexpr

import (
	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/cast"
	"tiltyard/shared/sql/column"
)

// coerce gives every node its type, from the leaves up, and casts arguments to the types
// that their operators work on.
func coerce(n *node) (*node, error) {
	if len(n.args) == 0 && n.op != opListLit && n.op != opCall {
		return n, nil
	}
	args := make([]*node, len(n.args))
	for i, a := range n.args {
		var err error
		if args[i], err = coerce(a); err != nil {
			return nil, err
		}
	}
	n = n.with(args...)
	for _, a := range args {
		if a.typ.ID() == arrow.INTERVAL_MONTH_DAY_NANO && !n.op.isArithmetic() && (n.op != opCall || !n.fn.intervals) {
			return nil, sql.Errorf(sql.ErrUnsupported, a.pos, "intervals other than to add and subtract")
		}
	}
	switch op := n.op; {
	case op == opMember && n.index < 0:
		return member(args[0], n.name, n.pos)
	case op == opMember, op == opIsNull:
		if op == opIsNull {
			n.typ = column.TypeBool
		}
		return n, nil
	case op == opAnd || op == opOr || op == opNot || op == opIsTrue || op == opIsFalse:
		return coerceLogic(n)
	case op.isComparison():
		return coerceComparison(n)
	case op.isArithmetic():
		return coerceArithmetic(n)
	case op == opConcat:
		return coerceTo(n, concatType(args[0].typ, args[1].typ), nil)
	case op.isBitwise():
		return coerceBitwise(n)
	case op == opNeg:
		return coerceNeg(n)
	case op == opIn, op == opBetween:
		return coerceTest(n)
	case op == opLike:
		return coerceTo(n, likeType(args[0].typ, args[1].typ), column.TypeBool)
	case op == opCast:
		if !cast.Possible(args[0].typ, n.typ) {
			return nil, sql.Errorf(sql.ErrUnsupported, n.pos, "cast of %s to %s", args[0].typ, n.typ)
		}
		return n, nil
	case op == opCase:
		return coerceCase(n)
	case op == opCall:
		return n.fn.bind(n)
	case op == opListLit:
		return listLiteral(n)
	}
	return n, nil
}

// coerceLogic takes bools and NULL, and no other type, not even one that can be cast.
func coerceLogic(n *node) (*node, error) {
	for _, a := range n.args {
		if id := a.typ.ID(); id != arrow.BOOL && id != arrow.NULL {
			return nil, mismatch(n)
		}
	}
	return coerceTo(n, column.TypeBool, nil)
}

func coerceComparison(n *node) (*node, error) {
	l, r := n.args[0].typ, n.args[1].typ
	if column.IsSimpleList(l) && column.IsSimpleList(r) {
		return coerceListComparison(n)
	}
	if column.IsNested(l) || column.IsNested(r) {
		if l.ID() == arrow.NULL || r.ID() == arrow.NULL {
			return coerceTo(n, comparisonType(l, r), column.TypeBool)
		}
		return nil, sql.Errorf(sql.ErrUnsupported, n.pos, "comparison of %s with %s", l, r)
	}
	return coerceTo(n, comparisonType(l, r), column.TypeBool)
}

// coerceListComparison compares lists for equality, whatever kind of lists they are. The
// elements are compared as in a total order, and NULL equals NULL.
func coerceListComparison(n *node) (*node, error) {
	l, r := n.args[0].typ, n.args[1].typ
	switch n.op {
	case opEq, opNe, opDistinct, opNotDistinct:
	default:
		return nil, sql.Errorf(sql.ErrUnsupported, n.pos, "%s of %s and %s", n.op, l, r)
	}
	elem := comparisonType(column.ValueType(column.ElemType(l)), column.ValueType(column.ElemType(r)))
	if elem == nil {
		return nil, mismatch(n)
	}
	return coerceTo(n, column.ListLike(l, elem), column.TypeBool)
}

// coerceArithmetic casts each operand for itself, as two decimals keep their scales.
func coerceArithmetic(n *node) (*node, error) {
	l, r := n.args[0], n.args[1]
	if column.IsTemporal(l.typ) || column.IsTemporal(r.typ) {
		return temporalArithmetic(n)
	}
	lt, rt, result := arithmeticTypes(n.op, l.typ, r.typ)
	if result == nil {
		return nil, mismatch(n)
	}
	l, err := castTo(l, lt)
	if err != nil {
		return nil, err
	}
	if r, err = castTo(r, rt); err != nil {
		return nil, err
	}
	n = n.with(l, r)
	n.typ = result
	return n, nil
}

// coerceBitwise takes integers, which become one type.
func coerceBitwise(n *node) (*node, error) {
	l, r := n.args[0].typ, n.args[1].typ
	if t := nullType(l, r); t != nil {
		l, r = t, t
	}
	if !column.IsInteger(l) || !column.IsInteger(r) {
		return nil, mismatch(n)
	}
	t := plainNumericType(l, r)
	if !column.IsInteger(t) {
		t = column.TypeUint64 // negative numbers are errors
	}
	return coerceTo(n, t, nil)
}

// coerceNeg refuses unsigned integers instead of making them signed.
func coerceNeg(n *node) (*node, error) {
	t := n.args[0].typ
	switch {
	case column.IsSigned(t), column.IsFloat(t), column.IsDecimal(t), t.ID() == arrow.NULL:
		n.typ = t
		return n, nil
	case column.IsTimestamp(t), t.ID() == arrow.DURATION:
		return nil, sql.Errorf(sql.ErrUnsupported, n.pos, "minus of %s", t)
	}
	return nil, mismatch(n)
}

// coerceTest finds one type for IN and BETWEEN. BETWEEN pairs its operand with each bound
// and then the pairs, IN goes through its list in order.
func coerceTest(n *node) (*node, error) {
	x := n.args[0].typ
	for _, a := range n.args {
		if column.IsNested(a.typ) {
			return nil, sql.Errorf(sql.ErrUnsupported, a.pos, "%s of %s", n.op, a.typ)
		}
	}
	if n.op == opBetween {
		low, high := comparisonType(x, n.args[1].typ), comparisonType(x, n.args[2].typ)
		if low == nil || high == nil {
			return nil, mismatch(n)
		}
		return coerceTo(n, comparisonType(low, high), column.TypeBool)
	}
	for _, a := range n.args[1:] {
		if x = comparisonType(x, a.typ); x == nil {
			return nil, mismatch(n)
		}
	}
	return coerceTo(n, x, column.TypeBool)
}

// coerceCase turns CASE x WHEN a into CASE WHEN x = a, where that comparison is by the
// total order of floats also against a literal zero, and finds the type of the result.
func coerceCase(n *node) (*node, error) {
	args := append([]*node(nil), n.args...)
	if n.exact {
		operand := args[0]
		args = args[1:]
		if err := coerceOperand(n, operand, args); err != nil {
			return nil, err
		}
	}
	var values []*node // ELSE first, as it decides between equals
	pairs := len(args) / 2
	if len(args)%2 != 0 {
		values = append(values, args[2*pairs])
	}
	for i := range pairs {
		values = append(values, args[2*i+1])
	}
	typ := values[0].typ
	for _, v := range values[1:] {
		if typ = unionType(typ, v.typ); typ == nil {
			return nil, mismatch(n.with(values...))
		}
	}
	if column.IsNested(typ) && !column.IsSimpleList(typ) {
		return nil, sql.Errorf(sql.ErrUnsupported, n.pos, "CASE of %s", typ)
	}
	for i, a := range args {
		want := typ
		if i < 2*pairs && i%2 == 0 {
			want = column.TypeBool
		}
		var err error
		if args[i], err = castTo(a, want); err != nil {
			return nil, err
		}
	}
	n = n.with(args...)
	n.exact = false
	n.typ = typ
	return n, nil
}

// coerceOperand replaces the conditions among the arguments of CASE x by comparisons with
// x, all in one type.
func coerceOperand(n, x *node, args []*node) error {
	typ := x.typ
	for i := 0; i+1 < len(args); i += 2 {
		if typ = comparisonType(typ, args[i].typ); typ == nil {
			return mismatch(n.with(x, args[i]))
		}
	}
	if column.IsNested(typ) {
		return sql.Errorf(sql.ErrUnsupported, n.pos, "CASE on %s", typ)
	}
	for i := 0; i+1 < len(args); i += 2 {
		cond, err := coerceTo(args[i].binary(opEq, column.TypeBool, x, args[i]), typ, column.TypeBool)
		if err != nil {
			return err
		}
		cond.exact = true
		args[i] = cond
	}
	return nil
}

// listLiteral makes a literal of a list of literals. The list has the type of its first
// element if it stands outside of a call; either way elements are cast to one type.
func listLiteral(n *node) (*node, error) {
	elem := column.TypeNull
	for _, a := range n.args {
		if a.op != opLit {
			m := n.with(n.args...)
			m.op = opCall
			m.fn = &function{name: "make_array", eval: evalMakeArray}
			return bindMakeArray(m)
		}
		if elem = coalesceType(elem, a.typ); elem == nil {
			return nil, mismatch(n)
		}
	}
	if column.IsNested(elem) {
		return nil, sql.Errorf(sql.ErrUnsupported, n.pos, "lists of %s", elem)
	}
	elems := make([]column.Vec, len(n.args))
	for i, a := range n.args {
		v, err := cast.Vec(nil, a.val, elem, nil, false)
		if err != nil {
			return nil, sql.At(err, a.pos)
		}
		elems[i] = v
	}
	return literal(column.ListConstant(elem, elems), n.pos), nil
}
