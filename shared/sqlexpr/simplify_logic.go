package sqlexpr

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/column"
)

// rewriteLogic simplifies AND and OR. For operands that may be NULL every rule but those on
// lists keeps the three-valued answer.
func rewriteLogic(n *node) *node {
	l, r := n.args[0], n.args[1]
	deciding := n.op == opOr
	for i, x := range n.args {
		if value, ok := x.boolLiteral(); ok {
			if value == deciding {
				return x
			}
			return n.args[1-i]
		}
	}
	dual := opAnd + opOr - n.op
	switch {
	case isNotOf(r, l) && !l.mayBeNull(), isNotOf(l, r) && !r.mayBeNull():
		return literal(column.BoolConstant(deciding), n.pos)
	case hasTerm(l, r.key(), n.op): // (… a …) AND a
		return l
	case hasTerm(r, l.key(), n.op):
		return r
	case hasOperand(r, l.key(), dual): // a AND (a OR b)
		return l
	case hasOperand(l, r.key(), dual):
		return r
	}
	if n.op == opOr {
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

func isNotOf(not, x *node) bool { return not.op == opNot && not.args[0].key() == x.key() }

// hasTerm reports whether a chain of an operator has a term.
func hasTerm(n *node, key nodeKey, op opcode) bool {
	if n.op == op {
		return hasTerm(n.args[0], key, op) || hasTerm(n.args[1], key, op)
	}
	return n.key() == key
}

// hasOperand reports whether n is the operator applied to a term and something else.
func hasOperand(n *node, key nodeKey, op opcode) bool {
	return n.op == op && (n.args[0].key() == key || n.args[1].key() == key)
}

// terms appends the terms of a chain of AND.
func terms(list []*node, n *node) []*node {
	if n.op == opAnd {
		return terms(terms(list, n.args[0]), n.args[1])
	}
	return append(list, n)
}

// commonFactors makes a AND (b OR c) of (a AND b) OR (a AND c), nil if they have nothing in
// common.
func commonFactors(n *node) *node {
	var left []*node
	for _, t := range terms(nil, n.args[0]) { // each once
		if len(minus([]*node{t}, left)) == 1 {
			left = append(left, t)
		}
	}
	right := terms(nil, n.args[1])
	rightRest := minus(right, left)
	common := minus(right, rightRest)
	if len(common) == 0 {
		return nil
	}
	leftRest := minus(left, common)
	join := func(list []*node) *node {
		all := list[0]
		for _, t := range list[1:] {
			all = n.binary(opAnd, column.TypeBool, all, t)
		}
		return all
	}
	if len(leftRest) == 0 || len(rightRest) == 0 {
		return join(common)
	}
	return n.binary(opAnd, column.TypeBool, join(common), n.binary(opOr, column.TypeBool, join(leftRest), join(rightRest)))
}

// mergeComparisons makes x = a of x >= a AND x <= a, and x = 1 of x = 1 AND x != 2.
func mergeComparisons(n *node) *node {
	l, r := n.args[0], n.args[1]
	if l.exact || r.exact {
		return nil
	}
	if l.op == opGe && r.op == opLe && l.args[0].key() == r.args[0].key() && l.args[1].key() == r.args[1].key() {
		return l.binary(opEq, column.TypeBool, l.args[0], l.args[1])
	}
	for _, eq := range n.args {
		ne := l
		if eq == l {
			ne = r
		}
		if eq.op != opEq || ne.op != opNe {
			continue
		}
		x1, lit1 := literalSide(eq)
		x2, lit2 := literalSide(ne)
		if lit1 != nil && lit2 != nil && x1.key() == x2.key() && lit1.key() != lit2.key() {
			return eq
		}
	}
	return nil
}

// literalSide returns the other operand and the literal of a comparison, nil if it has
// none.
func literalSide(n *node) (x, lit *node) {
	l, r := n.args[0], n.args[1]
	switch {
	case l.op == opLit:
		return r, l
	case r.op == opLit:
		return l, r
	}
	return l, nil
}

// combineLists combines two tests of one expression against literals, joined by AND or OR,
// into one. It returns nil if it has nothing to combine.
//
// Lists are intersected, united or subtracted as if there were no NULL, neither among the
// literals nor as the value: x IN (1, 2) AND x NOT IN (1, 2) is FALSE and not NULL for
// NULL, and x IN (1, NULL) AND x NOT IN (NULL) is TRUE for 1. This is wrong by the
// standard and shows in rare filters, such as the first one negated; it is what DataFusion
// does.
func combineLists(n *node) *node {
	l, r := n.args[0], n.args[1]
	if n.op == opOr {
		if a, b := equalityList(l), equalityList(r); a != nil && b != nil && a.args[0].key() == b.args[0].key() {
			return listNode(a, false, unique(slices.Concat(a.args[1:], b.args[1:])))
		}
	}
	if l.op != opIn || r.op != opIn || l.args[0].key() != r.args[0].key() {
		return nil
	}
	x, y := l.args[1:], r.args[1:]
	switch {
	case n.op == opOr && l.not && r.not, n.op == opAnd && !l.not && !r.not:
		return intersection(l, x, y)
	case n.op == opOr:
		return nil
	case l.not && r.not:
		return listNode(l, true, slices.Concat(x, minus(y, x)))
	case l.not:
		return difference(r, y, x)
	default:
		return difference(l, x, y)
	}
}

// equalityList returns column IN (…), or column = literal as such a list, or nil.
func equalityList(n *node) *node {
	if n.op == opIn && !n.not && n.args[0].op == opCol {
		return n
	}
	if n.op != opEq || n.exact {
		return nil
	}
	x, lit := literalSide(n)
	if lit == nil || x.op != opCol {
		return nil
	}
	return &node{op: opIn, typ: column.TypeBool, args: []*node{x, lit}, pos: n.pos}
}

// intersection of two lists; x IN () is FALSE and x NOT IN () is TRUE.
func intersection(in *node, x, y []*node) *node {
	rest := minus(x, minus(x, y))
	if len(rest) == 0 {
		return literal(column.BoolConstant(in.not), in.pos)
	}
	return listNode(in, in.not, rest)
}

// difference of a list and one of NOT IN.
func difference(in *node, x, y []*node) *node {
	rest := minus(x, y)
	if len(rest) == 0 {
		return literal(column.BoolConstant(false), in.pos)
	}
	return listNode(in, false, rest)
}

// minus returns the nodes of x that are not in y.
func minus(x, y []*node) []*node {
	drop := map[nodeKey]bool{}
	for _, n := range y {
		drop[n.key()] = true
	}
	return slices.DeleteFunc(slices.Clone(x), func(n *node) bool { return drop[n.key()] })
}

// unique returns the nodes without those that come a second time.
func unique(list []*node) []*node {
	seen := map[nodeKey]bool{}
	return slices.DeleteFunc(slices.Clone(list), func(n *node) bool {
		key := n.key()
		again := seen[key]
		seen[key] = true
		return again
	})
}

func listNode(in *node, not bool, list []*node) *node {
	m := in.copy()
	m.not = not
	m.args = append([]*node{in.args[0]}, list...)
	return m
}

// maxRepeatedNodes bounds what a rewrite may repeat, or it would grow with each of those that
// are in each other.
const maxRepeatedNodes = 100

// caseAsTests returns the conditions that a CASE of one or two tests for NULL says with AND
// and OR, or nil. That is what coalesce is of.
func caseAsTests(n *node) *node {
	pairs := len(n.args) / 2
	if n.typ.ID() != arrow.BOOL || pairs > 2 || !n.isWithin(maxRepeatedNodes) {
		return nil
	}
	before, all := literal(column.BoolConstant(false), n.pos), literal(column.BoolConstant(false), n.pos)
	not := func(x *node) *node { return &node{op: opNot, typ: column.TypeBool, args: []*node{x}, pos: n.pos} }
	add := func(when, then *node) {
		all = n.binary(opOr, column.TypeBool, all, n.binary(opAnd, column.TypeBool, when, then))
	}
	for i := range pairs {
		when, then := n.args[2*i], n.args[2*i+1]
		if when.op != opIsNull {
			return nil
		}
		add(n.binary(opAnd, column.TypeBool, when, not(before)), then)
		before = n.binary(opOr, column.TypeBool, before, when)
	}
	last := literal(column.Null(column.TypeBool), n.pos)
	if len(n.args) > 2*pairs {
		last = n.args[2*pairs]
	}
	add(not(before), last)
	all, _ = mapUp(all, always(rewrite))
	return all
}
