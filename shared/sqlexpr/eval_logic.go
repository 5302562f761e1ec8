package sqlexpr

import "github.com/apache/arrow-go/v18/arrow"

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

// truth returns the rows that are known to have a value. A constant has one row.
func truth(v vec, value bool) bitset {
	bits := v.data.(bitset)
	if !value {
		bits = bits.invert(v.n)
	}
	return and(bits, v.valid)
}

// kleene combines by OR if deciding is true, by AND if it is false: the result has the
// deciding value where either operand is known to have it, the other value where both are
// known to have that, and is NULL elsewhere.
func kleene(l, r vec, deciding bool) vec {
	n, konst := width(l, r)
	l, r = spread(l, n), spread(r, n)
	yes, no := or(truth(l, deciding), truth(r, deciding)), and(truth(l, !deciding), truth(r, !deciding))
	out := vec{typ: typeBool, n: n, konst: konst, data: yes}
	if !deciding {
		out.data = no
	}
	if l.valid != nil || r.valid != nil {
		out.valid = or(yes, no)
	}
	return out
}

func or(a, b bitset) bitset {
	out := make(bitset, len(a))
	for i, w := range a {
		out[i] = w | b[i]
	}
	return out
}

// spread repeats a constant bool for n rows.
func spread(v vec, n int) vec {
	if !v.konst || n == 1 {
		return v
	}
	out := vec{typ: v.typ, n: n, data: newBitset(n)}
	switch {
	case v.isNull(0):
		out.valid = newBitset(n)
	case v.data.(bitset).has(0):
		out.data = fullBitset(n)
	}
	return out
}

// invertBool computes NOT.
func invertBool(v vec) vec {
	v.data = v.data.(bitset).invert(v.n)
	return v
}

// isNullTest computes IS NULL, or IS NOT NULL if not is set.
func isNullTest(v vec, not bool) vec {
	out := vec{typ: typeBool, n: v.n, konst: v.konst}
	valid := v.valid
	if valid == nil {
		valid = fullBitset(v.n)
	}
	out.data = valid
	if !not {
		out.data = valid.invert(v.n)
	}
	return out
}

// truthTest computes IS TRUE or IS FALSE, or their opposites, which are never NULL.
func truthTest(v vec, value, not bool) vec {
	bits := truth(v, value)
	if not {
		bits = bits.invert(v.n)
	}
	return vec{typ: typeBool, n: v.n, konst: v.konst, data: bits}
}

// caseWhen evaluates each branch for the rows that take it.
func (f *frame) caseWhen(n *node, rows bitset) (vec, error) {
	b := branches{m: f.m, n: f.n, typ: n.typ}
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

// branches puts a column together from pieces of others.
type branches struct {
	m    *meter
	n    int
	typ  arrow.DataType
	rows []bitset
	vals []vec
}

// add takes the values of v for the rows, which are in no other branch.
func (b *branches) add(rows bitset, v vec) {
	b.rows = append(b.rows, rows)
	b.vals = append(b.vals, v)
}

// vec returns the column. Rows of no branch are NULL.
func (b *branches) vec() (vec, error) {
	slotBits, _ := slotBits(b.typ)
	if err := b.m.take(b.n * (8 + slotBits/8)); err != nil {
		return vec{}, err
	}
	out := vec{typ: b.typ, n: b.n, valid: newBitset(b.n)}
	source := make([]int, b.n) // branch of each row, counted from 1
	for i, rows := range b.rows {
		rows.each(b.n, func(row int) bool {
			source[row] = i + 1
			if !b.vals[i].isNull(row) {
				out.valid.set(row)
			}
			return true
		})
	}
	if isString(b.typ) || isBinary(b.typ) {
		var err error
		out.data, err = b.text(source, out.valid)
		return out, err
	}
	if isList(b.typ) {
		var err error
		out.data, err = b.lists(source, out.valid)
		return out, err
	}
	out.data = zeroData(b.typ, b.n)
	for i, rows := range b.rows {
		copyRows(out.data, b.vals[i], rows, b.n)
	}
	return out, nil
}

// text appends the pieces in the order of rows, as texts of no fixed width cannot be put in
// place.
func (b *branches) text(source []int, valid bitset) (text, error) {
	t := newTextBuilder(b.m, b.n)
	for row, s := range source {
		if s > 0 && valid.has(row) {
			v := b.vals[s-1]
			value := v.data.(text).at(v.at(row))
			if err := t.reserve(len(value)); err != nil {
				return text{}, err
			}
			t.data = append(t.data, value...)
			if err := b.m.step(len(value)); err != nil {
				return text{}, err
			}
		}
		t.done()
	}
	return t.text(), nil
}

// lists picks the lists in the order of rows.
func (b *branches) lists(source []int, valid bitset) (lists, error) {
	elems := make([]vec, len(b.vals))
	for i, v := range b.vals {
		elems[i] = v.data.(lists).elems
	}
	made := newListBuilder(b.m, b.n, elems...)
	for row, s := range source {
		if s > 0 && valid.has(row) {
			_, span := b.vals[s-1].listsOf()
			for from, to := span(row); from < to; from++ {
				made.add(s-1, from)
			}
		}
		if err := made.end(); err != nil {
			return lists{}, err
		}
	}
	if len(elems) == 0 {
		return lists{off: made.off, elems: vec{typ: elemType(b.typ), data: emptyData(elemType(b.typ))}}, nil
	}
	return made.lists(elemType(b.typ))
}
