package plan

import (
	"tiltyard/shared/sql/internal/column"

	"tiltyard/shared/sql/internal/compute"
	"tiltyard/shared/sql/internal/expr"
)

// rewriteZero rewrites comparisons with a literal zero so that they treat both float zeros as equal,
// although -0.0 is below 0.0 in the total order. Like native Lance, it chooses the sign of the literal so
// that x = 0 and x < 0 have their usual meaning:
//
//	x < 0, x >= 0               -0.0
//	x > 0, x <= 0               +0.0
//	x = 0, x != 0               x [NOT] IN (-0.0, 0.0)
//	x IN (0, …)                 both
//	0 IN (a, b)                 a IN (-0.0, 0.0) OR b IN (-0.0, 0.0)
//	x IS [NOT] DISTINCT FROM 0  x IN (-0.0, 0.0) IS [NOT] TRUE
//
// Other nodes stay as they are.
func rewriteZero(n *expr.Node) *expr.Node {
	switch {
	case n.Op.IsComparison() && !n.Exact:
		return zeroComparison(n)
	case n.Op == expr.OpBetween:
		low, high := withZero(n.Args[1], true), withZero(n.Args[2], false)
		return n.With(n.Args[0], low, high)
	case n.Op == expr.OpIn && isZero(n.Args[0]):
		return zeroProbe(n)
	case n.Op == expr.OpIn:
		return zeroList(n)
	}
	return n
}

// isZero reports whether the node is a literal zero of a float type.
func isZero(n *expr.Node) bool {
	if n.Op != expr.OpLit || n.Value.IsNull(0) {
		return false
	}
	switch d := n.Value.Data.(type) {
	case []column.Half:
		return d[0]&0x7fff == 0
	case []float32:
		return d[0] == 0
	case []float64:
		return d[0] == 0
	}
	return false
}

// zero returns a literal zero of a given sign, of the type of n.
func zero(n *expr.Node, negative bool) *expr.Node {
	v := column.Constant(n.Type, column.Zeros(n.Type, 1))
	if negative {
		switch d := v.Data.(type) {
		case []column.Half:
			d[0] = 0x8000
		case []float32:
			v.Data = compute.Negated(d)
		case []float64:
			v.Data = compute.Negated(d)
		}
	}
	return expr.Literal(v, n.Pos)
}

// withZero sets the sign of a literal zero, and returns other nodes unchanged.
func withZero(n *expr.Node, negative bool) *expr.Node {
	if isZero(n) {
		return zero(n, negative)
	}
	return n
}

// zeroComparison moves the literal to the right side and applies the table.
func zeroComparison(n *expr.Node) *expr.Node {
	op, x, lit := n.Op, n.Args[0], n.Args[1]
	if lit.Op != expr.OpLit && x.Op == expr.OpLit {
		x, lit = lit, x
		op = swapped[op]
	}
	if !isZero(lit) {
		return n
	}
	both := &expr.Node{Op: expr.OpIn, Type: column.TypeBool, Pos: n.Pos, Args: []*expr.Node{x, zero(lit, true), zero(lit, false)}}
	switch op {
	case expr.OpLt, expr.OpGe:
		return n.Binary(op, column.TypeBool, x, zero(lit, true))
	case expr.OpGt, expr.OpLe:
		return n.Binary(op, column.TypeBool, x, zero(lit, false))
	case expr.OpEq, expr.OpNe:
		both.Not = op == expr.OpNe
		return both
	default: // expr.OpDistinct, expr.OpNotDistinct
		return &expr.Node{Op: expr.OpIsTrue, Type: column.TypeBool, Not: op == expr.OpDistinct, Args: []*expr.Node{both}, Pos: n.Pos}
	}
}

// swapped are the operators with their operands exchanged.
var swapped = map[expr.Op]expr.Op{
	expr.OpEq: expr.OpEq, expr.OpNe: expr.OpNe, expr.OpLt: expr.OpGt, expr.OpGt: expr.OpLt, expr.OpLe: expr.OpGe, expr.OpGe: expr.OpLe,
	expr.OpDistinct: expr.OpDistinct, expr.OpNotDistinct: expr.OpNotDistinct,
}

// zeroList adds the other zero to a list that contains one of the two.
func zeroList(n *expr.Node) *expr.Node {
	var plus, minus *expr.Node
	for _, a := range n.Args[1:] {
		if isZero(a) {
			if a.Key() == zero(a, true).Key() {
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
		return n.With(append(n.Args[:len(n.Args):len(n.Args)], zero(minus, false))...)
	default:
		return n.With(append(n.Args[:len(n.Args):len(n.Args)], zero(plus, true))...)
	}
}

// zeroProbe rewrites 0 IN (a, b).
func zeroProbe(n *expr.Node) *expr.Node {
	x := n.Args[0]
	if len(n.Args) == 3 && isZero(n.Args[1]) && isZero(n.Args[2]) {
		return n // already rewritten
	}
	var found *expr.Node
	for _, a := range n.Args[1:] {
		test := &expr.Node{Op: expr.OpIn, Type: column.TypeBool, Pos: n.Pos, Args: []*expr.Node{a, zero(x, true), zero(x, false)}}
		if found == nil {
			found = test
		} else {
			found = n.Binary(expr.OpOr, column.TypeBool, found, test)
		}
	}
	if n.Not {
		return &expr.Node{Op: expr.OpNot, Type: column.TypeBool, Args: []*expr.Node{found}, Pos: n.Pos}
	}
	return found
}
