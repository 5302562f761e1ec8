package sqlexpr

import (
	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/meter"
)

// concat computes l || r of two strings or two binaries.
func concat(m *meter.Meter, typ arrow.DataType, l, r vec, rows bitset) (vec, error) {
	n, konst := width(l, r)
	out := vec{typ: typ, n: n, konst: konst, valid: bothValid(l, r, n)}
	if konst {
		rows = nil
	}
	live := and(rows, out.valid)
	a, b, ml, mr := l.data.(text), r.data.(text), l.mask(), r.mask()
	t := newTextBuilder(m, n)
	for i := range n {
		if live == nil || live.has(i) {
			x, y := a.at(i&ml), b.at(i&mr)
			if err := t.reserve(len(x) + len(y)); err != nil {
				return vec{}, err
			}
			t.data = append(append(t.data, x...), y...)
			if err := m.Step(len(x) + len(y)); err != nil {
				return vec{}, err
			}
		}
		t.done()
	}
	out.data = t.text()
	return out, nil
}

// between computes x BETWEEN low AND high as two comparisons.
func between(n *node, args []vec) vec {
	low, high := opGe, opLe
	if n.not {
		low, high = opLt, opGt
	}
	return kleene(compare(low, args[0], args[1]), compare(high, args[0], args[2]), n.not)
}

// textTest evaluates a test of one string for the rows that count.
func textTest(m *meter.Meter, v vec, rows bitset, test func(s []byte) (bool, error)) (vec, error) {
	out := vec{typ: typeBool, n: v.n, konst: v.konst, valid: v.valid, data: newBitset(v.n)}
	if v.konst {
		rows = nil
	}
	t, bits := v.data.(text), out.data.(bitset)
	long := t.areLong(v.n)
	var err error
	v.live(rows, v.n).each(v.n, func(i int) bool {
		var ok bool
		s := t.at(i)
		if ok, err = test(s); ok {
			bits.set(i)
		}
		if long && err == nil {
			err = m.Step(len(s))
		}
		return err == nil
	})
	return out, err
}

// textTest2 evaluates a test of two strings for the rows that count.
func textTest2(m *meter.Meter, l, r vec, rows bitset, test func(a, b []byte) (bool, error)) (vec, error) {
	n, konst := width(l, r)
	out := vec{typ: typeBool, n: n, konst: konst, valid: bothValid(l, r, n), data: newBitset(n)}
	if konst {
		rows = nil
	}
	a, b, ml, mr, bits := l.data.(text), r.data.(text), l.mask(), r.mask(), out.data.(bitset)
	long := a.areLong(l.n) || b.areLong(r.n)
	var err error
	and(rows, out.valid).each(n, func(i int) bool {
		var ok bool
		x, y := a.at(i&ml), b.at(i&mr)
		if ok, err = test(x, y); ok {
			bits.set(i)
		}
		if long && err == nil {
			err = m.Step(len(x) + len(y))
		}
		return err == nil
	})
	return out, err
}
