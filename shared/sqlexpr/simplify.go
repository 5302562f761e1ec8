package sqlexpr

import (
	"errors"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/column"
	"tiltyard/shared/sql/meter"
)

// simplify folds constants and rewrites operations to cheaper ones.
//
// Most of its rules keep every answer as it is. Those on casts (unwrap.go), on IN lists
// (simplify_logic.go) and on literal zeros (zero.go) do not, and which nodes they meet
// depends on what the others did before. So all of them are DataFusion's (crate optimizer,
// simplify_expressions), in its order, with the steps that Lance adds for zeros.
func simplify(m *meter.Meter, n *node) (*node, error) {
	n, err := mapUp(n, func(n *node) (*node, error) { return zeroOperands(m, n) })
	if err != nil {
		return nil, err
	}
	if n, err = simplifyRounds(m, n); err != nil {
		return nil, err
	}
	return mapUp(n, always(rewriteZero))
}

// zeroOperands simplifies the operands of a comparison of floats, so that a zero that has
// yet to be computed becomes a literal, and then sees to the zero.
func zeroOperands(m *meter.Meter, n *node) (*node, error) {
	if !n.op.isComparison() && n.op != opBetween && n.op != opIn || !column.IsFloat(n.args[0].typ) {
		return n, nil
	}
	args := make([]*node, len(n.args))
	for i, a := range n.args {
		var err error
		if args[i], err = simplifyRounds(m, a); err != nil {
			return nil, err
		}
	}
	return rewriteZero(n.with(args...)), nil
}

// simplifyRounds folds and rewrites until nothing changes, but no more often than
// DataFusion does.
func simplifyRounds(m *meter.Meter, n *node) (*node, error) {
	if n.op == opLit {
		return n, nil
	}
	n, _ = mapUp(n, always(canonical))
	const rounds = 3
	before := n.key()
	for range rounds {
		var err error
		if n, err = mapUp(n, func(n *node) (*node, error) { return fold(m, n) }); err != nil {
			return nil, err
		}
		n, _ = mapUp(n, always(rewrite))
		if err = n.checkSize(); err != nil {
			return nil, err
		}
		after := n.key()
		if after == before {
			break
		}
		before = after
	}
	return n, nil
}

// mapUp applies f to every node of a tree, to the arguments before the node itself.
func mapUp(n *node, f func(n *node) (*node, error)) (*node, error) {
	for i, a := range n.args {
		b, err := mapUp(a, f)
		if err != nil {
			return nil, err
		}
		if b != a {
			args := slices.Clone(n.args)
			args[i] = b
			n = n.with(args...)
		}
	}
	return f(n)
}

func always(f func(n *node) *node) func(n *node) (*node, error) {
	return func(n *node) (*node, error) { return f(n), nil }
}

// canonical puts a column before a literal, and of two columns the first by name before
// the other, so that equal comparisons look equal.
func canonical(n *node) *node {
	if !n.op.isComparison() || n.exact {
		return n
	}
	l, r := n.args[0], n.args[1]
	if r.op == opCol && (l.op == opLit || l.op == opCol && r.name > l.name) {
		return n.binary(swapped[n.op], column.TypeBool, r, l)
	}
	return n
}

// fold computes a node whose arguments are all literals. If that fails, or is too much, the
// node stays, and is computed or fails again when it is evaluated for a row; only the cast of
// a literal fails at once.
func fold(m *meter.Meter, n *node) (*node, error) {
	if n.op == opLit || n.op == opCol || n.op == opCall && n.fn.perRow != nil || n.heavy || !m.MayFold() {
		return n, nil
	}
	for _, a := range n.args {
		if a.op != opLit {
			return n, nil
		}
	}
	var v column.Vec
	err := m.Fold(func() (err error) {
		f := frame{m: m, n: 1, cols: map[int]column.Vec{}, consts: constants{}}
		v, err = f.eval(n, nil)
		return err
	})
	var own *sql.Error
	switch {
	case err == nil && m.KeepConstant(constantBytes(v)):
		v.Const = true // CASE and list functions make a column, of one row here
		return literal(v, n.pos), nil
	case err != nil && !errors.As(err, &own), err == nil:
		n = n.copy()
		n.heavy = true
	case n.op == opCast:
		return nil, err
	}
	return n, nil
}

// elementBytes is what each element of a constant list counts as, because it can become a
// node of its own.
const elementBytes = 256

// constantBytes is what a constant counts as.
func constantBytes(v column.Vec) int64 {
	size := int64(v.Bytes())
	if l, ok := v.Data.(column.Lists); ok {
		size += elementBytes * int64(l.Elems.N)
	}
	return size
}

// rewrite applies the rules for one node.
func rewrite(n *node) *node {
	switch op := n.op; {
	case op == opAnd || op == opOr:
		return rewriteLogic(n)
	case op == opNot:
		return negateTest(n.args[0], n)
	case op == opBetween:
		low, high, join := opGe, opLe, opAnd
		if n.not {
			low, high, join = opLt, opGt, opOr
		}
		x := n.args[0]
		return n.binary(join, column.TypeBool, n.binary(low, column.TypeBool, x, n.args[1]), n.binary(high, column.TypeBool, x, n.args[2]))
	case op.isComparison():
		return rewriteComparison(n)
	case op.isArithmetic():
		return rewriteArithmetic(n)
	case op == opNeg && n.args[0].op == opNeg:
		return n.args[0].args[0]
	case op == opCase:
		return rewriteCase(n)
	case op == opIn:
		return unwrapIn(n)
	case op == opLike:
		return rewriteLike(n)
	case op == opCall && n.fn.name == "starts_with":
		return rewriteStartsWith(n)
	case op == opCall && n.fn.name == "regexp_like":
		return rewriteRegexpLike(n)
	case op == opCall && n.fn.name == "array_has" && n.args[0].op == opLit:
		return hasAsIn(n)
	case op == opCall && n.fn.name == "array_has" && n.args[0].op == opCall && n.args[0].fn.name == "make_array":
		list := n.args[0].args // the same for a list that is made for each row
		return &node{op: opIn, typ: column.TypeBool, args: append([]*node{n.args[1]}, list...), pos: n.pos}
	case op == opIsNull && !n.args[0].mayBeNull():
		return literal(column.BoolConstant(n.not), n.pos)
	}
	return n
}

// rewriteComparison handles comparisons with NULL, of bools with literals, and of casts
// with literals.
func rewriteComparison(n *node) *node {
	l, r := n.args[0], n.args[1]
	if n.op <= opGe && (l.isNullLiteral() || r.isNullLiteral()) {
		return literal(column.Null(column.TypeBool), n.pos)
	}
	if (n.op == opEq || n.op == opNe) && l.typ.ID() == arrow.BOOL && !n.exact {
		for i, x := range n.args {
			if value, ok := x.boolLiteral(); ok {
				other := n.args[1-i]
				if value == (n.op == opEq) {
					return other
				}
				return &node{op: opNot, typ: column.TypeBool, args: []*node{other}, pos: n.pos}
			}
		}
	}
	switch {
	case n.exact:
		return n
	case n.op == opEq && l.key() == r.key(): // x = x
		if !l.mayBeNull() {
			return literal(column.BoolConstant(true), n.pos)
		}
		test := &node{op: opIsNull, typ: column.TypeBool, not: true, args: []*node{l}, pos: n.pos}
		return n.binary(opOr, column.TypeBool, test, literal(column.Null(column.TypeBool), n.pos))
	}
	return unwrapComparison(n)
}

// rewriteArithmetic removes factors and divisors of one, and products with zero.
func rewriteArithmetic(n *node) *node {
	l, r := n.args[0], n.args[1]
	plain := func(x *node) bool { return !x.mayBeNull() && !column.IsFloat(x.typ) }
	switch {
	case l.isNullLiteral() || r.isNullLiteral():
		return literal(column.Null(n.typ), n.pos)
	case (n.op == opMul || n.op == opDiv) && r.isNumber(1):
		return asType(l, n.typ)
	case n.op == opMul && l.isNumber(1):
		return asType(r, n.typ)
	case n.op == opMul && r.isNumber(0) && plain(l):
		return asType(r, n.typ)
	case n.op == opMul && l.isNumber(0) && plain(r):
		return asType(l, n.typ)
	case n.op == opMod && r.isNumber(1) && plain(l):
		return literal(column.Constant(n.typ, column.Zeros(n.typ, 1)), n.pos)
	}
	return n
}

// rewriteCase removes branches that are never taken, and those after one that always is.
func rewriteCase(n *node) *node {
	pairs := len(n.args) / 2
	last := n.args[2*pairs:]
	var kept []*node
	for i := range pairs {
		cond, then := n.args[2*i], n.args[2*i+1]
		if value, ok := cond.boolLiteral(); ok && !value {
			continue
		} else if ok {
			last = n.args[2*i+1 : 2*i+2]
			break
		}
		kept = append(kept, cond, then)
	}
	switch {
	case len(kept) > 0:
		m := n.with(append(kept, last...)...)
		if tests := caseAsTests(m); tests != nil {
			return tests
		}
		return m
	case len(last) > 0:
		return last[0]
	}
	return literal(column.Null(n.typ), n.pos)
}

// hasAsIn makes IN of the search in a constant list. A NULL in the list now matters, as it
// does to the native Lance: what is not in such a list is NULL and not FALSE.
func hasAsIn(n *node) *node {
	list, x := n.args[0], n.args[1]
	if list.isNullLiteral() {
		return literal(column.Null(column.TypeBool), n.pos)
	}
	l := list.val.Data.(column.Lists)
	args := []*node{x}
	for i := int(l.Off[0]); i < int(l.Off[1]); i++ {
		slots, valid := []int{i}, column.FullBitset(1)
		if l.Elems.IsNull(i) {
			slots, valid = []int{-1}, column.NewBitset(1)
		}
		v, err := l.Elems.Gather(nil, slots, valid)
		if err != nil {
			return n
		}
		v.Const = true
		args = append(args, literal(v, list.pos))
	}
	if len(args) == 1 {
		return literal(column.BoolConstant(false), n.pos)
	}
	return &node{op: opIn, typ: column.TypeBool, args: args, pos: n.pos}
}

// asType casts a number to another type unless it has it.
func asType(n *node, typ arrow.DataType) *node {
	if column.SameType(n.typ, typ) {
		return n
	}
	return &node{op: opCast, typ: typ, args: []*node{n}, pos: n.pos}
}

var negation = map[opcode]opcode{
	opEq: opNe, opNe: opEq, opLt: opGe, opGe: opLt, opGt: opLe, opLe: opGt,
	opDistinct: opNotDistinct, opNotDistinct: opDistinct,
}

// negateTest moves a NOT into what it negates. The order of comparisons is total, so that
// NOT a < b is a >= b also for NaN.
func negateTest(x, not *node) *node {
	switch op := x.op; {
	case op == opNot:
		return x.args[0]
	case op.isComparison() && !x.exact:
		m := x.copy()
		m.op = negation[op]
		return m
	case op == opAnd, op == opOr:
		m := x.copy()
		m.op = opAnd + opOr - op
		m.args = []*node{negateTest(x.args[0], nil), negateTest(x.args[1], nil)}
		return m
	case op == opIn, op == opLike, op == opBetween, op == opIsNull:
		m := x.copy()
		m.not = !x.not
		return m
	}
	if not != nil {
		return not
	}
	return &node{op: opNot, typ: column.TypeBool, args: []*node{x}, pos: x.pos}
}
