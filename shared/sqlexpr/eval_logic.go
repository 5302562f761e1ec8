package sqlexpr

// logic evaluates AND and OR in three-valued logic. The right side is evaluated for the
// rows that the left side leaves undecided, and not at all if there are none.
func (f *frame) logic(n *node, rows bitset) (vec, error) {
	l, err := f.eval(n.args[0], rows)
	if err != nil {
		return vec{}, err
	}
	deciding := n.op == opOr // the value that decides
	undecided := rows
	if decided := truth(l, deciding); l.konst {
		if decided.has(0) {
			return l, nil
		}
	} else if !decided.empty() {
		undecided = and(rows, decided.invert(f.n))
		if undecided.empty() {
			return l, nil
		}
	}
	r, err := f.eval(n.args[1], undecided)
	if err != nil {
		return vec{}, err
	}
	return kleene(l, r, deciding), nil
}

// caseWhen evaluates each branch for the rows that take it.
func (f *frame) caseWhen(n *node, rows bitset) (vec, error) {
	b := newBranches(f.m, f.n, n.typ)
	left := and(fullBitset(f.n), rows)
	take := func(n *node, rows bitset) error {
		if rows.empty() {
			return nil
		}
		v, err := f.eval(n, rows)
		if err == nil {
			b.add(rows, v)
		}
		return err
	}
	pairs := len(n.args) / 2
	for i := range pairs {
		if left.empty() {
			break
		}
		cond, err := f.eval(n.args[2*i], left)
		if err != nil {
			return vec{}, err
		}
		taken := and(left, truth(spread(cond, f.n), true))
		if err := take(n.args[2*i+1], taken); err != nil {
			return vec{}, err
		}
		left = and(left, taken.invert(f.n))
	}
	if len(n.args)%2 != 0 {
		if err := take(n.args[2*pairs], left); err != nil {
			return vec{}, err
		}
	}
	return b.vec()
}
