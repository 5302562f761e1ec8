package sqlexpr

import "tiltyard/shared/sql/column"

// logic evaluates AND and OR in three-valued logic. The right side is evaluated for the
// rows that the left side leaves undecided, and not at all if there are none.
func (f *frame) logic(n *node, rows column.Bitset) (column.Vec, error) {
	l, err := f.eval(n.args[0], rows)
	if err != nil {
		return column.Vec{}, err
	}
	deciding := n.op == opOr // the value that decides
	undecided := rows
	if decided := truth(l, deciding); l.Const {
		if decided.Has(0) {
			return l, nil
		}
	} else if !decided.Empty() {
		undecided = column.And(rows, decided.Invert(f.n))
		if undecided.Empty() {
			return l, nil
		}
	}
	r, err := f.eval(n.args[1], undecided)
	if err != nil {
		return column.Vec{}, err
	}
	return kleene(l, r, deciding), nil
}

// caseWhen evaluates each branch for the rows that take it.
func (f *frame) caseWhen(n *node, rows column.Bitset) (column.Vec, error) {
	b := column.NewBranches(f.m, f.n, n.typ)
	left := column.And(column.FullBitset(f.n), rows)
	take := func(n *node, rows column.Bitset) error {
		if rows.Empty() {
			return nil
		}
		v, err := f.eval(n, rows)
		if err == nil {
			b.Add(rows, v)
		}
		return err
	}
	pairs := len(n.args) / 2
	for i := range pairs {
		if left.Empty() {
			break
		}
		cond, err := f.eval(n.args[2*i], left)
		if err != nil {
			return column.Vec{}, err
		}
		taken := column.And(left, truth(spread(cond, f.n), true))
		if err := take(n.args[2*i+1], taken); err != nil {
			return column.Vec{}, err
		}
		left = column.And(left, taken.Invert(f.n))
	}
	if len(n.args)%2 != 0 {
		if err := take(n.args[2*pairs], left); err != nil {
			return column.Vec{}, err
		}
	}
	return b.Vec()
}
