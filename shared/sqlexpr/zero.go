package sqlexpr

import "tiltyard/shared/sql/column"

// rewriteZero makes comparisons with a literal zero treat both zeros of floats as one. In
// the order of floats -0.0 is below 0.0; the native Lance sees to it that x = 0 and x < 0
// still mean what they say, by choosing the zero that the literal is:
//
//	x < 0, x >= 0               -0.0
//	x > 0, x <= 0               +0.0
//	x = 0, x != 0               x [NOT] IN (-0.0, 0.0)
//	x IN (0, …)                 both
//	0 IN (a, b)                 a IN (-0.0, 0.0) OR b IN (-0.0, 0.0)
//	x IS [NOT] DISTINCT FROM 0  x IN (-0.0, 0.0) IS [NOT] TRUE
//
// Other nodes stay as they are.
func rewriteZero(n *node) *node {
	switch {
	case n.op.isComparison() && !n.exact:
		return zeroComparison(n)
	case n.op == opBetween:
		low, high := withZero(n.args[1], true), withZero(n.args[2], false)
		return n.with(n.args[0], low, high)
	case n.op == opIn && isZero(n.args[0]):
		return zeroProbe(n)
	case n.op == opIn:
		return zeroList(n)
	}
	return n
}

// isZero reports whether the node is a literal zero of a float type.
func isZero(n *node) bool {
	if n.op != opLit || n.val.IsNull(0) {
		return false
	}
	switch d := n.val.Data.(type) {
	case []column.Half:
		return d[0]&0x7fff == 0
	case []float32:
		return d[0] == 0
	case []float64:
		return d[0] == 0
	}
	return false
}

// zero returns a literal zero with a sign, of the type of n.
func zero(n *node, negative bool) *node {
	v := column.Constant(n.typ, column.Zeros(n.typ, 1))
	if negative {
		switch d := v.Data.(type) {
		case []column.Half:
			d[0] = 0x8000
		case []float32:
			v.Data = negated(d)
		case []float64:
			v.Data = negated(d)
		}
	}
	return literal(v, n.pos)
}

// withZero gives a literal zero a sign, and leaves other nodes alone.
func withZero(n *node, negative bool) *node {
	if isZero(n) {
		return zero(n, negative)
	}
	return n
}

// zeroComparison puts the literal on the right side to look up what is to be done.
func zeroComparison(n *node) *node {
	op, x, lit := n.op, n.args[0], n.args[1]
	if lit.op != opLit && x.op == opLit {
		x, lit = lit, x
		op = swapped[op]
	}
	if !isZero(lit) {
		return n
	}
	both := &node{op: opIn, typ: column.TypeBool, pos: n.pos, args: []*node{x, zero(lit, true), zero(lit, false)}}
	switch op {
	case opLt, opGe:
		return n.binary(op, column.TypeBool, x, zero(lit, true))
	case opGt, opLe:
		return n.binary(op, column.TypeBool, x, zero(lit, false))
	case opEq, opNe:
		both.not = op == opNe
		return both
	default: // opDistinct, opNotDistinct
		return &node{op: opIsTrue, typ: column.TypeBool, not: op == opDistinct, args: []*node{both}, pos: n.pos}
	}
}

// swapped are the operators with their operands exchanged.
var swapped = map[opcode]opcode{
	opEq: opEq, opNe: opNe, opLt: opGt, opGt: opLt, opLe: opGe, opGe: opLe,
	opDistinct: opDistinct, opNotDistinct: opNotDistinct,
}

// zeroList adds the other zero to a list that has one.
func zeroList(n *node) *node {
	var plus, minus *node
	for _, a := range n.args[1:] {
		if isZero(a) {
			if a.key() == zero(a, true).key() {
				minus = a
			} else {
				plus = a
			}
		}
	}
	switch {
	case plus == nil && minus == nil, plus != nil && minus != nil:
		return n
	case plus == nil:
		return n.with(append(n.args[:len(n.args):len(n.args)], zero(minus, false))...)
	default:
		return n.with(append(n.args[:len(n.args):len(n.args)], zero(plus, true))...)
	}
}

// zeroProbe turns 0 IN (a, b) around.
func zeroProbe(n *node) *node {
	x := n.args[0]
	if len(n.args) == 3 && isZero(n.args[1]) && isZero(n.args[2]) {
		return n // already what this rule makes
	}
	var found *node
	for _, a := range n.args[1:] {
		test := &node{op: opIn, typ: column.TypeBool, pos: n.pos, args: []*node{a, zero(x, true), zero(x, false)}}
		if found == nil {
			found = test
		} else {
			found = n.binary(opOr, column.TypeBool, found, test)
		}
	}
	if n.not {
		return &node{op: opNot, typ: column.TypeBool, args: []*node{found}, pos: n.pos}
	}
	return found
}
