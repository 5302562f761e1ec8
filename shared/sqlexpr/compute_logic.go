package sqlexpr

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
