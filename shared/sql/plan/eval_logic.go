package plan

import (
	"tiltyard/shared/sql/internal/column"

	"tiltyard/shared/sql/internal/compute"
	"tiltyard/shared/sql/internal/expr"
)

// logic evaluates AND and OR in three-valued logic. It evaluates the right side only for the rows that the
// left side leaves undecided.
func (f *frame) logic(n *expr.Node, rows column.Bitset) (column.Vec, error) {
	l, err := f.eval(n.Args[0], rows)
	if err != nil {
		return column.Vec{}, err
	}
	deciding := n.Op == expr.OpOr // the value that decides
	undecided := rows
	if decided := compute.Truth(l, deciding); l.Const {
		if decided.Has(0) {
			return l, nil
		}
	} else if !decided.Empty() {
		undecided = column.And(rows, decided.Invert(f.n))
		if undecided.Empty() {
			return l, nil
		}
	}
	r, err := f.eval(n.Args[1], undecided)
	if err != nil {
		return column.Vec{}, err
	}
	return compute.Kleene(l, r, deciding), nil
}

// caseWhen evaluates each branch for the rows that take it.
func (f *frame) caseWhen(n *expr.Node, rows column.Bitset) (column.Vec, error) {
	b := column.NewBranches(f.m, f.n, n.Type)
	left := column.And(column.FullBitset(f.n), rows)
	take := func(n *expr.Node, rows column.Bitset) error {
		if rows.Empty() {
			return nil
		}
		v, err := f.eval(n, rows)
		if err == nil {
			b.Add(rows, v)
		}
		return err
	}
	pairs := len(n.Args) / 2
	for i := range pairs {
		if left.Empty() {
			break
		}
		cond, err := f.eval(n.Args[2*i], left)
		if err != nil {
			return column.Vec{}, err
		}
		taken := column.And(left, compute.Truth(compute.Spread(cond, f.n), true))
		if err := take(n.Args[2*i+1], taken); err != nil {
			return column.Vec{}, err
		}
		left = column.And(left, taken.Invert(f.n))
	}
	if len(n.Args)%2 != 0 {
		if err := take(n.Args[2*pairs], left); err != nil {
			return column.Vec{}, err
		}
	}
	return b.Vec()
}
