package sqlexpr

import "github.com/apache/arrow-go/v18/arrow"

// concat computes l || r of two strings or two binaries.
func concat(typ arrow.DataType, l, r vec, rows bitset) (vec, error) {
	n, konst := width(l, r)
	out := vec{typ: typ, n: n, konst: konst, valid: bothValid(l, r, n)}
	if konst {
		rows = nil
	}
	live := and(rows, out.valid)
	a, b, ml, mr := l.data.(text), r.data.(text), l.mask(), r.mask()
	t := newTextBuilder(n)
	for i := range n {
		if live == nil || live.has(i) {
			t.data = append(t.data, a.at(i&ml)...)
			t.data = append(t.data, b.at(i&mr)...)
		}
		if len(t.data) > maxText {
			return vec{}, errorf(ErrTooLarge, noPos, "result of more than %d bytes of text", maxText)
		}
		t.done()
	}
	out.data = t.text()
	return out, nil
}

// maxText bounds the text that || makes of a batch, for it can double with every operand.
const maxText = 256 << 20

// between computes x BETWEEN low AND high as two comparisons.
func between(n *node, args []vec) vec {
	low, high := opGe, opLe
	if n.not {
		low, high = opLt, opGt
	}
	return kleene(compare(low, args[0], args[1]), compare(high, args[0], args[2]), n.not)
}

// textTest evaluates a test of one string for the rows that count.
func textTest(v vec, rows bitset, test func(s []byte) (bool, error)) (vec, error) {
	out := vec{typ: typeBool, n: v.n, konst: v.konst, valid: v.valid, data: newBitset(v.n)}
	if v.konst {
		rows = nil
	}
	t, bits := v.data.(text), out.data.(bitset)
	var err error
	v.live(rows, v.n).each(v.n, func(i int) bool {
		var ok bool
		if ok, err = test(t.at(i)); ok {
			bits.set(i)
		}
		return err == nil
	})
	return out, err
}

// textTest2 evaluates a test of two strings for the rows that count.
func textTest2(l, r vec, rows bitset, test func(a, b []byte) (bool, error)) (vec, error) {
	n, konst := width(l, r)
	out := vec{typ: typeBool, n: n, konst: konst, valid: bothValid(l, r, n), data: newBitset(n)}
	if konst {
		rows = nil
	}
	a, b, ml, mr, bits := l.data.(text), r.data.(text), l.mask(), r.mask(), out.data.(bitset)
	var err error
	and(rows, out.valid).each(n, func(i int) bool {
		var ok bool
		if ok, err = test(a.at(i&ml), b.at(i&mr)); ok {
			bits.set(i)
		}
		return err == nil
	})
	return out, err
}
