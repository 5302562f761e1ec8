package plan

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
)

// rewriteLogic simplifies AND and OR. All rules except those on lists preserve NULLs.
func rewriteLogic(n *expr.Node) *expr.Node {
	l, r := n.Args[0], n.Args[1]
	deciding := n.Op == expr.OpOr
	for i, x := range n.Args {
		if value, ok := x.BoolLiteral(); ok {
			if value == deciding {
				return x
			}
			return n.Args[1-i]
		}
	}
	dual := expr.OpAnd + expr.OpOr - n.Op
	switch {
	case isNotOf(r, l) && !l.MayBeNull(), isNotOf(l, r) && !r.MayBeNull():
		return expr.Literal(column.BoolConstant(deciding), n.Pos)
	case hasTerm(l, r.Key(), n.Op): // (… a …) AND a
		return l
	case hasTerm(r, l.Key(), n.Op):
		return r
	case hasOperand(r, l.Key(), dual): // a AND (a OR b)
		return l
	case hasOperand(l, r.Key(), dual):
		return r
	}
	if n.Op == expr.OpOr {
		if m := commonFactors(n); m != nil {
			return m
		}
	} else if m := mergeComparisons(n); m != nil {
		return m
	}
	if m := combineLists(n); m != nil {
		return m
	}
	return n
}

func isNotOf(not, x *expr.Node) bool { return not.Op == expr.OpNot && not.Args[0].Key() == x.Key() }

// hasTerm reports whether a chain of an operator has a term.
func hasTerm(n *expr.Node, key expr.Key, op expr.Op) bool {
	if n.Op == op {
		return hasTerm(n.Args[0], key, op) || hasTerm(n.Args[1], key, op)
	}
	return n.Key() == key
}

// hasOperand reports whether n is the operator, applied to a term and something else.
func hasOperand(n *expr.Node, key expr.Key, op expr.Op) bool {
	return n.Op == op && (n.Args[0].Key() == key || n.Args[1].Key() == key)
}

// terms appends the terms of a chain of AND.
func terms(list []*expr.Node, n *expr.Node) []*expr.Node {
	if n.Op == expr.OpAnd {
		return terms(terms(list, n.Args[0]), n.Args[1])
	}
	return append(list, n)
}

// commonFactors turns (a AND b) OR (a AND c) into a AND (b OR c). It returns nil if there
// is no common term.
func commonFactors(n *expr.Node) *expr.Node {
	var left []*expr.Node
	for _, t := range terms(nil, n.Args[0]) { // each once
		if len(minus([]*expr.Node{t}, left)) == 1 {
			left = append(left, t)
		}
	}
	right := terms(nil, n.Args[1])
	rightRest := minus(right, left)
	common := minus(right, rightRest)
	if len(common) == 0 {
		return nil
	}
	leftRest := minus(left, common)
	join := func(list []*expr.Node) *expr.Node {
		all := list[0]
		for _, t := range list[1:] {
			all = n.Binary(expr.OpAnd, column.TypeBool, all, t)
		}
		return all
	}
	if len(leftRest) == 0 || len(rightRest) == 0 {
		return join(common)
	}
	return n.Binary(expr.OpAnd, column.TypeBool, join(common), n.Binary(expr.OpOr, column.TypeBool, join(leftRest), join(rightRest)))
}

// mergeComparisons turns x >= a AND x <= a into x = a, and x = 1 AND x != 2 into x = 1.
func mergeComparisons(n *expr.Node) *expr.Node {
	l, r := n.Args[0], n.Args[1]
	if l.Exact || r.Exact {
		return nil
	}
	if l.Op == expr.OpGe && r.Op == expr.OpLe && l.Args[0].Key() == r.Args[0].Key() && l.Args[1].Key() == r.Args[1].Key() {
		return l.Binary(expr.OpEq, column.TypeBool, l.Args[0], l.Args[1])
	}
	for _, eq := range n.Args {
		ne := l
		if eq == l {
			ne = r
		}
		if eq.Op != expr.OpEq || ne.Op != expr.OpNe {
			continue
		}
		x1, lit1 := literalSide(eq)
		x2, lit2 := literalSide(ne)
		if lit1 != nil && lit2 != nil && x1.Key() == x2.Key() && lit1.Key() != lit2.Key() {
			return eq
		}
	}
	return nil
}

// literalSide returns the two operands of a comparison with a literal, or nil if neither is a literal.
func literalSide(n *expr.Node) (x, lit *expr.Node) {
	l, r := n.Args[0], n.Args[1]
	switch {
	case l.Op == expr.OpLit:
		return r, l
	case r.Op == expr.OpLit:
		return l, r
	}
	return l, nil
}

// combineLists combines two tests of one expression against literals, joined by AND or OR, into one. It
// returns nil for other operations.
//
// The lists are intersected, united or subtracted without regard to NULLs in the lists or as the value. So
// x IN (1, 2) AND x NOT IN (1, 2) is FALSE and not NULL if x is NULL, and x IN (1, NULL) AND x NOT IN
// (NULL) is TRUE if x is 1. This violates the SQL standard, and shows in rare filters such as the negation
// of the first example; but DataFusion does the same.
func combineLists(n *expr.Node) *expr.Node {
	l, r := n.Args[0], n.Args[1]
	if n.Op == expr.OpOr {
		if a, b := equalityList(l), equalityList(r); a != nil && b != nil && a.Args[0].Key() == b.Args[0].Key() {
			return listNode(a, false, unique(slices.Concat(a.Args[1:], b.Args[1:])))
		}
	}
	if l.Op != expr.OpIn || r.Op != expr.OpIn || l.Args[0].Key() != r.Args[0].Key() {
		return nil
	}
	x, y := l.Args[1:], r.Args[1:]
	switch {
	case n.Op == expr.OpOr && l.Not && r.Not, n.Op == expr.OpAnd && !l.Not && !r.Not:
		return intersection(l, x, y)
	case n.Op == expr.OpOr:
		return nil
	case l.Not && r.Not:
		return listNode(l, true, slices.Concat(x, minus(y, x)))
	case l.Not:
		return difference(r, y, x)
	default:
		return difference(l, x, y)
	}
}

// equalityList returns column IN (…), or column = literal in that form, or nil.
func equalityList(n *expr.Node) *expr.Node {
	if n.Op == expr.OpIn && !n.Not && n.Args[0].Op == expr.OpCol {
		return n
	}
	if n.Op != expr.OpEq || n.Exact {
		return nil
	}
	x, lit := literalSide(n)
	if lit == nil || x.Op != expr.OpCol {
		return nil
	}
	return &expr.Node{Op: expr.OpIn, Type: column.TypeBool, Args: []*expr.Node{x, lit}, Pos: n.Pos}
}

// intersection returns the intersection of two lists. x IN () is FALSE and x NOT IN () is
// TRUE.
func intersection(in *expr.Node, x, y []*expr.Node) *expr.Node {
	rest := minus(x, minus(x, y))
	if len(rest) == 0 {
		return expr.Literal(column.BoolConstant(in.Not), in.Pos)
	}
	return listNode(in, in.Not, rest)
}

// difference returns a list without the values of a NOT IN list.
func difference(in *expr.Node, x, y []*expr.Node) *expr.Node {
	rest := minus(x, y)
	if len(rest) == 0 {
		return expr.Literal(column.BoolConstant(false), in.Pos)
	}
	return listNode(in, false, rest)
}

// minus returns the nodes of x that are not in y.
func minus(x, y []*expr.Node) []*expr.Node {
	drop := map[expr.Key]bool{}
	for _, n := range y {
		drop[n.Key()] = true
	}
	return slices.DeleteFunc(slices.Clone(x), func(n *expr.Node) bool { return drop[n.Key()] })
}

// unique returns the nodes without repetitions.
func unique(list []*expr.Node) []*expr.Node {
	seen := map[expr.Key]bool{}
	return slices.DeleteFunc(slices.Clone(list), func(n *expr.Node) bool {
		key := n.Key()
		again := seen[key]
		seen[key] = true
		return again
	})
}

func listNode(in *expr.Node, not bool, list []*expr.Node) *expr.Node {
	m := in.Copy()
	m.Not = not
	m.Args = append([]*expr.Node{in.Args[0]}, list...)
	return m
}

// maxRepeatedNodes bounds the nodes that a rewrite may duplicate, because nested rewrites multiply them.
const maxRepeatedNodes = 100

// caseAsTests rewrites a CASE with one or two tests for NULL, the form in which coalesce is planned, as AND
// and OR. It returns nil for other nodes.
func caseAsTests(n *expr.Node) *expr.Node {
	pairs := len(n.Args) / 2
	if n.Type.ID() != arrow.BOOL || pairs > 2 || !n.IsWithin(maxRepeatedNodes) {
		return nil
	}
	before, all := expr.Literal(column.BoolConstant(false), n.Pos), expr.Literal(column.BoolConstant(false), n.Pos)
	not := func(x *expr.Node) *expr.Node {
		return &expr.Node{Op: expr.OpNot, Type: column.TypeBool, Args: []*expr.Node{x}, Pos: n.Pos}
	}
	add := func(when, then *expr.Node) {
		all = n.Binary(expr.OpOr, column.TypeBool, all, n.Binary(expr.OpAnd, column.TypeBool, when, then))
	}
	for i := range pairs {
		when, then := n.Args[2*i], n.Args[2*i+1]
		if when.Op != expr.OpIsNull {
			return nil
		}
		add(n.Binary(expr.OpAnd, column.TypeBool, when, not(before)), then)
		before = n.Binary(expr.OpOr, column.TypeBool, before, when)
	}
	last := expr.Literal(column.Null(column.TypeBool), n.Pos)
	if len(n.Args) > 2*pairs {
		last = n.Args[2*pairs]
	}
	add(not(before), last)
	all, _ = mapUp(all, always(rewrite))
	return all
}
