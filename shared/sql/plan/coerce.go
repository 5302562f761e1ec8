package plan

import (
	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/cast"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/fn/list"
)

// coerce gives every node its type, from the leaves up, and casts arguments to the types on
// which their operators work.
func coerce(n *expr.Node) (*expr.Node, error) {
	if len(n.Args) == 0 && n.Op != expr.OpListLit && n.Op != expr.OpCall {
		return n, nil
	}
	args := make([]*expr.Node, len(n.Args))
	for i, a := range n.Args {
		var err error
		if args[i], err = coerce(a); err != nil {
			return nil, err
		}
	}
	n = n.With(args...)
	for _, a := range args {
		if a.Type.ID() == arrow.INTERVAL_MONTH_DAY_NANO && !n.Op.IsArithmetic() && (n.Op != expr.OpCall || !n.Func.Intervals) {
			return nil, sql.Errorf(sql.ErrUnsupported, a.Pos, "intervals other than to add and subtract")
		}
	}
	switch op := n.Op; {
	case op == expr.OpMember && n.Index < 0:
		return member(args[0], n.Name, n.Pos)
	case op == expr.OpMember, op == expr.OpIsNull:
		if op == expr.OpIsNull {
			n.Type = column.TypeBool
		}
		return n, nil
	case op == expr.OpAnd || op == expr.OpOr || op == expr.OpNot || op == expr.OpIsTrue || op == expr.OpIsFalse:
		return coerceLogic(n)
	case op.IsComparison():
		return coerceComparison(n)
	case op.IsArithmetic():
		return coerceArithmetic(n)
	case op == expr.OpConcat:
		return expr.CoerceTo(n, expr.ConcatType(args[0].Type, args[1].Type), nil)
	case op.IsBitwise():
		return coerceBitwise(n)
	case op == expr.OpNeg:
		return coerceNeg(n)
	case op == expr.OpIn, op == expr.OpBetween:
		return coerceTest(n)
	case op == expr.OpLike:
		return expr.CoerceTo(n, expr.LikeType(args[0].Type, args[1].Type), column.TypeBool)
	case op == expr.OpCast:
		if !cast.Possible(args[0].Type, n.Type) {
			return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "cast of %s to %s", args[0].Type, n.Type)
		}
		return n, nil
	case op == expr.OpCase:
		return coerceCase(n)
	case op == expr.OpCall:
		return n.Func.Bind(n)
	case op == expr.OpListLit:
		return listLiteral(n)
	}
	return n, nil
}

// coerceLogic accepts only bools and NULL, even if another type could be cast.
func coerceLogic(n *expr.Node) (*expr.Node, error) {
	for _, a := range n.Args {
		if id := a.Type.ID(); id != arrow.BOOL && id != arrow.NULL {
			return nil, expr.Mismatch(n)
		}
	}
	return expr.CoerceTo(n, column.TypeBool, nil)
}

// coerceComparison casts both operands to their common type. Lists, structs and maps are compared element
// by element, and other nested types not at all.
func coerceComparison(n *expr.Node) (*expr.Node, error) {
	l, r := n.Args[0].Type, n.Args[1].Type
	if column.IsSimpleList(l) && column.IsSimpleList(r) {
		return coerceListComparison(n)
	}
	if l.ID() == arrow.STRUCT && r.ID() == arrow.STRUCT {
		return structComparison(n)
	}
	if column.IsMap(l) && column.IsMap(r) {
		return mapComparison(n)
	}
	if column.IsNested(l) || column.IsNested(r) {
		if l.ID() == arrow.NULL || r.ID() == arrow.NULL {
			return expr.CoerceTo(n, expr.ComparisonType(l, r), column.TypeBool)
		}
		return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "comparison of %s with %s", l, r)
	}
	return expr.CoerceTo(n, expr.ComparisonType(l, r), column.TypeBool)
}

// structComparison rewrites the equality of structs as equalities of their members, matched by name. As
// with list elements, a NULL member equals NULL.
//
//	a IS NOT DISTINCT FROM b    (a IS NULL) = (b IS NULL) AND members, or both are NULL
//	a = b                       CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN members END
func structComparison(n *expr.Node) (*expr.Node, error) {
	l, r := n.Args[0], n.Args[1]
	fields := l.Type.(*arrow.StructType).Fields()
	if len(fields) == 0 || len(fields) != r.Type.(*arrow.StructType).NumFields() {
		return nil, expr.Mismatch(n)
	}
	both := func(op expr.Op, a, b *expr.Node) *expr.Node { return n.Binary(op, column.TypeBool, a, b) }
	isNull := func(x *expr.Node, not bool) *expr.Node {
		return &expr.Node{Op: expr.OpIsNull, Not: not, Type: column.TypeBool, Args: []*expr.Node{x}, Pos: n.Pos}
	}
	var same *expr.Node
	for _, f := range fields {
		a, err := member(l, f.Name, n.Pos)
		if err != nil {
			return nil, err
		}
		b, err := member(r, f.Name, n.Pos)
		if err != nil {
			return nil, err
		}
		one, err := coerceComparison(both(expr.OpNotDistinct, a, b))
		if err != nil {
			return nil, err
		}
		if one.Exact = true; same == nil {
			same = one
		} else {
			same = both(expr.OpAnd, same, one)
		}
	}
	present := both(expr.OpAnd, isNull(l, true), isNull(r, true))
	not := func(x *expr.Node) *expr.Node {
		return &expr.Node{Op: expr.OpNot, Type: column.TypeBool, Args: []*expr.Node{x}, Pos: n.Pos}
	}
	switch n.Op {
	case expr.OpEq, expr.OpNe:
		if n.Op == expr.OpNe {
			same = not(same)
		}
		return &expr.Node{Op: expr.OpCase, Type: column.TypeBool, Args: []*expr.Node{present, same}, Pos: n.Pos}, nil
	case expr.OpDistinct, expr.OpNotDistinct:
		same = both(expr.OpOr, both(expr.OpAnd, isNull(l, false), isNull(r, false)), both(expr.OpAnd, present, same))
		if n.Op == expr.OpDistinct {
			same = not(same)
		}
		return same, nil
	}
	return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "%s of %s and %s", n.Op, l.Type, r.Type)
}

// mapComparison rewrites the equality of maps as the equality of their key lists and value lists. The order
// of entries matters.
func mapComparison(n *expr.Node) (*expr.Node, error) {
	both := expr.OpAnd
	switch n.Op {
	case expr.OpEq, expr.OpNotDistinct:
	case expr.OpNe, expr.OpDistinct:
		both = expr.OpOr
	default:
		return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "%s of %s and %s", n.Op, n.Args[0].Type, n.Args[1].Type)
	}
	sides := [2]*expr.Node{}
	for i := range sides {
		var err error
		if sides[i], err = coerceComparison(n.With(list.MapMembers(n.Args[0], i), list.MapMembers(n.Args[1], i))); err != nil {
			return nil, err
		}
	}
	return n.Binary(both, column.TypeBool, sides[0], sides[1]), nil
}

// coerceListComparison compares lists of all kinds for equality. Elements are compared by
// the total order, and NULL equals NULL.
func coerceListComparison(n *expr.Node) (*expr.Node, error) {
	l, r := n.Args[0].Type, n.Args[1].Type
	switch n.Op {
	case expr.OpEq, expr.OpNe, expr.OpDistinct, expr.OpNotDistinct:
	default:
		return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "%s of %s and %s", n.Op, l, r)
	}
	elem := expr.ComparisonType(column.ValueType(column.ElemType(l)), column.ValueType(column.ElemType(r)))
	if elem == nil {
		return nil, expr.Mismatch(n)
	}
	return expr.CoerceTo(n, column.ListLike(l, elem), column.TypeBool)
}

// coerceArithmetic casts each operand separately, because two decimals keep their scales.
func coerceArithmetic(n *expr.Node) (*expr.Node, error) {
	l, r := n.Args[0], n.Args[1]
	if column.IsTemporal(l.Type) || column.IsTemporal(r.Type) {
		return temporalArithmetic(n)
	}
	lt, rt, result := expr.ArithmeticTypes(n.Op, l.Type, r.Type)
	if result == nil {
		return nil, expr.Mismatch(n)
	}
	l, err := expr.CastTo(l, lt)
	if err != nil {
		return nil, err
	}
	if r, err = expr.CastTo(r, rt); err != nil {
		return nil, err
	}
	n = n.With(l, r)
	n.Type = result
	return n, nil
}

// coerceBitwise accepts integers and casts both operands to one type.
func coerceBitwise(n *expr.Node) (*expr.Node, error) {
	l, r := n.Args[0].Type, n.Args[1].Type
	if t := expr.NullType(l, r); t != nil {
		l, r = t, t
	}
	if !column.IsInteger(l) || !column.IsInteger(r) {
		return nil, expr.Mismatch(n)
	}
	t := expr.PlainNumericType(l, r)
	if !column.IsInteger(t) {
		t = column.TypeUint64 // negative numbers are errors
	}
	return expr.CoerceTo(n, t, nil)
}

// coerceNeg refuses unsigned integers, as native Lance does.
func coerceNeg(n *expr.Node) (*expr.Node, error) {
	t := n.Args[0].Type
	switch {
	case column.IsSigned(t), column.IsFloat(t), column.IsDecimal(t), t.ID() == arrow.NULL:
		n.Type = t
		return n, nil
	case column.IsTimestamp(t), t.ID() == arrow.DURATION:
		return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "minus of %s", t)
	}
	return nil, expr.Mismatch(n)
}

// coerceTest casts the arguments of IN and BETWEEN to one type. For BETWEEN it combines the operand with
// each bound, and then the two results; for IN it combines the list in order.
func coerceTest(n *expr.Node) (*expr.Node, error) {
	x := n.Args[0].Type
	for _, a := range n.Args {
		if column.IsNested(a.Type) {
			return nil, sql.Errorf(sql.ErrUnsupported, a.Pos, "%s of %s", n.Op, a.Type)
		}
	}
	if n.Op == expr.OpBetween {
		low, high := expr.ComparisonType(x, n.Args[1].Type), expr.ComparisonType(x, n.Args[2].Type)
		if low == nil || high == nil {
			return nil, expr.Mismatch(n)
		}
		return expr.CoerceTo(n, expr.ComparisonType(low, high), column.TypeBool)
	}
	for _, a := range n.Args[1:] {
		if x = expr.ComparisonType(x, a.Type); x == nil {
			return nil, expr.Mismatch(n)
		}
	}
	return expr.CoerceTo(n, x, column.TypeBool)
}

// coerceCase rewrites CASE x WHEN a as CASE WHEN x = a, and determines the type of the result. The
// comparison uses the total order of floats, even with a literal zero.
func coerceCase(n *expr.Node) (*expr.Node, error) {
	args := append([]*expr.Node(nil), n.Args...)
	if n.Exact {
		operand := args[0]
		args = args[1:]
		if err := coerceOperand(n, operand, args); err != nil {
			return nil, err
		}
	}
	var values []*expr.Node // ELSE first, as it decides between equals
	pairs := len(args) / 2
	if len(args)%2 != 0 {
		values = append(values, args[2*pairs])
	}
	for i := range pairs {
		values = append(values, args[2*i+1])
	}
	typ := values[0].Type
	for _, v := range values[1:] {
		if typ = expr.UnionType(typ, v.Type); typ == nil {
			return nil, expr.Mismatch(n.With(values...))
		}
	}
	if column.IsNested(typ) && !column.IsSimpleList(typ) {
		return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "CASE of %s", typ)
	}
	for i, a := range args {
		want := typ
		if i < 2*pairs && i%2 == 0 {
			want = column.TypeBool
		}
		var err error
		if args[i], err = expr.CastTo(a, want); err != nil {
			return nil, err
		}
	}
	n = n.With(args...)
	n.Exact = false
	n.Type = typ
	return n, nil
}

// coerceOperand rewrites the conditions of CASE x as comparisons with x, all of one type.
func coerceOperand(n, x *expr.Node, args []*expr.Node) error {
	typ := x.Type
	for i := 0; i+1 < len(args); i += 2 {
		if typ = expr.ComparisonType(typ, args[i].Type); typ == nil {
			return expr.Mismatch(n.With(x, args[i]))
		}
	}
	if column.IsNested(typ) {
		return sql.Errorf(sql.ErrUnsupported, n.Pos, "CASE on %s", typ)
	}
	for i := 0; i+1 < len(args); i += 2 {
		cond, err := expr.CoerceTo(args[i].Binary(expr.OpEq, column.TypeBool, x, args[i]), typ, column.TypeBool)
		if err != nil {
			return err
		}
		cond.Exact = true
		args[i] = cond
	}
	return nil
}

// listLiteral turns a list of literals into one literal. Outside of a call, the list has the type of its
// first element. All elements are cast to one type.
func listLiteral(n *expr.Node) (*expr.Node, error) {
	elem := column.TypeNull
	for _, a := range n.Args {
		if a.Op != expr.OpLit {
			m := n.With(n.Args...)
			m.Op = expr.OpCall
			m.Func = &expr.Function{Name: "make_array", Eval: list.EvalMakeArray}
			return list.BindMakeArray(m)
		}
		if elem = expr.CoalesceType(elem, a.Type); elem == nil {
			return nil, expr.Mismatch(n)
		}
	}
	if column.IsNested(elem) {
		return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "lists of %s", elem)
	}
	elems := make([]column.Vec, len(n.Args))
	for i, a := range n.Args {
		v, err := cast.Vec(nil, a.Value, elem, nil, false)
		if err != nil {
			return nil, sql.At(err, a.Pos)
		}
		elems[i] = v
	}
	return expr.Literal(column.ListConstant(elem, elems), n.Pos), nil
}
