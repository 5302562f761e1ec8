package plan

import (
	"errors"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/meter"
)

// simplify folds constants and rewrites operations to cheaper ones.
//
// Most rules preserve every answer. The rules on casts (unwrap.go), on IN lists (simplify_logic.go) and on
// literal zeros (zero.go) do not, and their effect depends on the earlier rules. Therefore all rules are
// the same, and run in the same order, as in DataFusion (crate optimizer, simplify_expressions), with
// Lance's additional steps for zeros.
func simplify(m *meter.Meter, n *expr.Node) (*expr.Node, error) {
	n, err := mapUp(n, func(n *expr.Node) (*expr.Node, error) { return zeroOperands(m, n) })
	if err != nil {
		return nil, err
	}
	if n, err = simplifyRounds(m, n); err != nil {
		return nil, err
	}
	return mapUp(n, always(rewriteZero))
}

// zeroOperands simplifies the operands of a comparison of floats, so that a computed zero
// becomes a literal, and then applies the rules for zeros.
func zeroOperands(m *meter.Meter, n *expr.Node) (*expr.Node, error) {
	if !n.Op.IsComparison() && n.Op != expr.OpBetween && n.Op != expr.OpIn || !column.IsFloat(n.Args[0].Type) {
		return n, nil
	}
	args := make([]*expr.Node, len(n.Args))
	for i, a := range n.Args {
		var err error
		if args[i], err = simplifyRounds(m, a); err != nil {
			return nil, err
		}
	}
	return rewriteZero(n.With(args...)), nil
}

// simplifyRounds folds and rewrites until nothing changes, with the same maximal number of rounds as
// DataFusion.
func simplifyRounds(m *meter.Meter, n *expr.Node) (*expr.Node, error) {
	if n.Op == expr.OpLit {
		return n, nil
	}
	n, _ = mapUp(n, always(canonical))
	const rounds = 3
	before := n.Key()
	for range rounds {
		var err error
		if n, err = mapUp(n, func(n *expr.Node) (*expr.Node, error) { return fold(m, n) }); err != nil {
			return nil, err
		}
		n, _ = mapUp(n, always(rewrite))
		if err = n.CheckSize(); err != nil {
			return nil, err
		}
		after := n.Key()
		if after == before {
			break
		}
		before = after
	}
	return n, nil
}

// mapUp applies f to every node of a tree, to the arguments before the node itself.
func mapUp(n *expr.Node, f func(n *expr.Node) (*expr.Node, error)) (*expr.Node, error) {
	for i, a := range n.Args {
		b, err := mapUp(a, f)
		if err != nil {
			return nil, err
		}
		if b != a {
			args := slices.Clone(n.Args)
			args[i] = b
			n = n.With(args...)
		}
	}
	return f(n)
}

func always(f func(n *expr.Node) *expr.Node) func(n *expr.Node) (*expr.Node, error) {
	return func(n *expr.Node) (*expr.Node, error) { return f(n), nil }
}

// canonical puts a column before a literal, and orders two columns by name, so that equal
// comparisons have equal keys.
func canonical(n *expr.Node) *expr.Node {
	if !n.Op.IsComparison() || n.Exact {
		return n
	}
	l, r := n.Args[0], n.Args[1]
	if r.Op == expr.OpCol && (l.Op == expr.OpLit || l.Op == expr.OpCol && r.Name > l.Name) {
		return n.Binary(swapped[n.Op], column.TypeBool, r, l)
	}
	return n
}

// fold computes a node whose arguments are all literals. If that fails or exceeds the limits, the node
// stays, and is evaluated only for rows. The failing cast of a literal, however, is an error at once.
func fold(m *meter.Meter, n *expr.Node) (*expr.Node, error) {
	if n.Op == expr.OpLit || n.Op == expr.OpCol || n.Op == expr.OpCall && n.Func.PerRow != nil || n.Heavy || !m.MayFold() {
		return n, nil
	}
	for _, a := range n.Args {
		if a.Op != expr.OpLit {
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
		v.Const = true // CASE and list functions return a column, here with one row
		return expr.Literal(v, n.Pos), nil
	case err != nil && !errors.As(err, &own), err == nil:
		n = n.Copy()
		n.Heavy = true
	case n.Op == expr.OpCast:
		return nil, err
	}
	return n, nil
}

// elementBytes is the size that each element of a constant list counts as, because an
// element can become a node.
const elementBytes = 256

// constantBytes returns the size that a constant counts as.
func constantBytes(v column.Vec) int64 {
	size := int64(v.Bytes())
	if l, ok := v.Data.(column.Lists); ok {
		size += elementBytes * int64(l.Elems.N)
	}
	return size
}

// rewrite applies the rules to one node, but not to its arguments.
func rewrite(n *expr.Node) *expr.Node {
	switch op := n.Op; {
	case op == expr.OpAnd || op == expr.OpOr:
		return rewriteLogic(n)
	case op == expr.OpNot:
		return negateTest(n.Args[0], n)
	case op == expr.OpBetween:
		low, high, join := expr.OpGe, expr.OpLe, expr.OpAnd
		if n.Not {
			low, high, join = expr.OpLt, expr.OpGt, expr.OpOr
		}
		x := n.Args[0]
		return n.Binary(join, column.TypeBool, n.Binary(low, column.TypeBool, x, n.Args[1]), n.Binary(high, column.TypeBool, x, n.Args[2]))
	case op.IsComparison():
		return rewriteComparison(n)
	case op.IsArithmetic():
		return rewriteArithmetic(n)
	case op == expr.OpNeg && n.Args[0].Op == expr.OpNeg:
		return n.Args[0].Args[0]
	case op == expr.OpCase:
		return rewriteCase(n)
	case op == expr.OpIn:
		return unwrapIn(n)
	case op == expr.OpLike:
		return rewriteLike(n)
	case op == expr.OpCall && n.Func.Name == "starts_with":
		return rewriteStartsWith(n)
	case op == expr.OpCall && n.Func.Name == "regexp_like":
		return rewriteRegexpLike(n)
	case op == expr.OpCall && n.Func.Name == "array_has" && n.Args[0].Op == expr.OpLit:
		return hasAsIn(n)
	case op == expr.OpCall && n.Func.Name == "array_has" && n.Args[0].Op == expr.OpCall && n.Args[0].Func.Name == "make_array":
		list := n.Args[0].Args // the same for a list that is made for each row
		return &expr.Node{Op: expr.OpIn, Type: column.TypeBool, Args: append([]*expr.Node{n.Args[1]}, list...), Pos: n.Pos}
	case op == expr.OpIsNull && !n.Args[0].MayBeNull():
		return expr.Literal(column.BoolConstant(n.Not), n.Pos)
	}
	return n
}

// rewriteComparison simplifies comparisons with NULL, of bools with literals, and of casts
// with literals.
func rewriteComparison(n *expr.Node) *expr.Node {
	l, r := n.Args[0], n.Args[1]
	if n.Op <= expr.OpGe && (l.IsNullLiteral() || r.IsNullLiteral()) {
		return expr.Literal(column.Null(column.TypeBool), n.Pos)
	}
	if (n.Op == expr.OpEq || n.Op == expr.OpNe) && l.Type.ID() == arrow.BOOL && !n.Exact {
		for i, x := range n.Args {
			if value, ok := x.BoolLiteral(); ok {
				other := n.Args[1-i]
				if value == (n.Op == expr.OpEq) {
					return other
				}
				return &expr.Node{Op: expr.OpNot, Type: column.TypeBool, Args: []*expr.Node{other}, Pos: n.Pos}
			}
		}
	}
	switch {
	case n.Exact:
		return n
	case n.Op == expr.OpEq && l.Key() == r.Key(): // x = x
		if !l.MayBeNull() {
			return expr.Literal(column.BoolConstant(true), n.Pos)
		}
		test := &expr.Node{Op: expr.OpIsNull, Type: column.TypeBool, Not: true, Args: []*expr.Node{l}, Pos: n.Pos}
		return n.Binary(expr.OpOr, column.TypeBool, test, expr.Literal(column.Null(column.TypeBool), n.Pos))
	}
	return unwrapComparison(n)
}

// rewriteArithmetic removes factors and divisors of one, and replaces products with zero.
func rewriteArithmetic(n *expr.Node) *expr.Node {
	l, r := n.Args[0], n.Args[1]
	plain := func(x *expr.Node) bool { return !x.MayBeNull() && !column.IsFloat(x.Type) }
	switch {
	case l.IsNullLiteral() || r.IsNullLiteral():
		return expr.Literal(column.Null(n.Type), n.Pos)
	case (n.Op == expr.OpMul || n.Op == expr.OpDiv) && r.IsNumber(1):
		return asType(l, n.Type)
	case n.Op == expr.OpMul && l.IsNumber(1):
		return asType(r, n.Type)
	case n.Op == expr.OpMul && r.IsNumber(0) && plain(l):
		return asType(r, n.Type)
	case n.Op == expr.OpMul && l.IsNumber(0) && plain(r):
		return asType(l, n.Type)
	case n.Op == expr.OpMod && r.IsNumber(1) && plain(l):
		return expr.Literal(column.Constant(n.Type, column.Zeros(n.Type, 1)), n.Pos)
	}
	return n
}

// rewriteCase removes branches that are never taken, and the branches after one that is always taken.
func rewriteCase(n *expr.Node) *expr.Node {
	pairs := len(n.Args) / 2
	last := n.Args[2*pairs:]
	var kept []*expr.Node
	for i := range pairs {
		cond, then := n.Args[2*i], n.Args[2*i+1]
		if value, ok := cond.BoolLiteral(); ok && !value {
			continue
		} else if ok {
			last = n.Args[2*i+1 : 2*i+2]
			break
		}
		kept = append(kept, cond, then)
	}
	switch {
	case len(kept) > 0:
		m := n.With(append(kept, last...)...)
		if tests := caseAsTests(m); tests != nil {
			return tests
		}
		return m
	case len(last) > 0:
		return last[0]
	}
	return expr.Literal(column.Null(n.Type), n.Pos)
}

// hasAsIn rewrites a search in a constant list as IN. A NULL in the list then matters, as in native Lance:
// the result for a value outside the list is NULL instead of FALSE.
func hasAsIn(n *expr.Node) *expr.Node {
	list, x := n.Args[0], n.Args[1]
	if list.IsNullLiteral() {
		return expr.Literal(column.Null(column.TypeBool), n.Pos)
	}
	l := list.Value.Data.(column.Lists)
	args := []*expr.Node{x}
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
		args = append(args, expr.Literal(v, list.Pos))
	}
	if len(args) == 1 {
		return expr.Literal(column.BoolConstant(false), n.Pos)
	}
	return &expr.Node{Op: expr.OpIn, Type: column.TypeBool, Args: args, Pos: n.Pos}
}

// asType casts a number to another type, unless it already has that type.
func asType(n *expr.Node, typ arrow.DataType) *expr.Node {
	if column.SameType(n.Type, typ) {
		return n
	}
	return &expr.Node{Op: expr.OpCast, Type: typ, Args: []*expr.Node{n}, Pos: n.Pos}
}

var negation = map[expr.Op]expr.Op{
	expr.OpEq: expr.OpNe, expr.OpNe: expr.OpEq, expr.OpLt: expr.OpGe, expr.OpGe: expr.OpLt, expr.OpGt: expr.OpLe, expr.OpLe: expr.OpGt,
	expr.OpDistinct: expr.OpNotDistinct, expr.OpNotDistinct: expr.OpDistinct,
}

// negateTest moves a NOT into its operand. The order of comparisons is total, so NOT a < b
// is a >= b even for NaN.
func negateTest(x, not *expr.Node) *expr.Node {
	switch op := x.Op; {
	case op == expr.OpNot:
		return x.Args[0]
	case op.IsComparison() && !x.Exact:
		m := x.Copy()
		m.Op = negation[op]
		return m
	case op == expr.OpAnd, op == expr.OpOr:
		m := x.Copy()
		m.Op = expr.OpAnd + expr.OpOr - op
		m.Args = []*expr.Node{negateTest(x.Args[0], nil), negateTest(x.Args[1], nil)}
		return m
	case op == expr.OpIn, op == expr.OpLike, op == expr.OpBetween, op == expr.OpIsNull:
		m := x.Copy()
		m.Not = !x.Not
		return m
	}
	if not != nil {
		return not
	}
	return &expr.Node{Op: expr.OpNot, Type: column.TypeBool, Args: []*expr.Node{x}, Pos: x.Pos}
}
