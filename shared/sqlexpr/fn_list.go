package sqlexpr

import (
	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/meter"
)

// A list that is NULL makes these functions NULL. Elements that are NULL differ: array_has
// finds none, array_has_any and array_has_all take NULL as equal to NULL.

// bindArrayHas finds one type for the elements and for what is looked for.
func bindArrayHas(n *node) (*node, error) {
	list, x := n.args[0].typ, n.args[1].typ
	if list.ID() == arrow.NULL {
		return literal(nullVec(typeBool), n.pos), nil
	}
	if !isList(list) {
		return nil, mismatch(n)
	}
	elem, err := elementType(n, elemType(list), x)
	if err != nil {
		return nil, err
	}
	return castArgs(n, typeBool, listLike(list, elem), elem)
}

// bindArrayHasMany finds one type for the elements of two lists.
func bindArrayHasMany(n *node) (*node, error) {
	l, r := n.args[0].typ, n.args[1].typ
	if l.ID() == arrow.NULL || r.ID() == arrow.NULL {
		return literal(nullVec(typeBool), n.pos), nil
	}
	if !isList(l) || !isList(r) {
		return nil, mismatch(n)
	}
	elem, err := elementType(n, elemType(l), elemType(r))
	if err != nil {
		return nil, err
	}
	return castArgs(n, typeBool, listLike(l, elem), listLike(r, elem))
}

// elementType does not mix strings with other types, although there is a type for both.
func elementType(n *node, l, r arrow.DataType) (arrow.DataType, error) {
	if isNested(l) || isNested(r) {
		return nil, sql.Errorf(sql.ErrUnsupported, n.pos, "%s of %s and %s", n.fn.name, l, r)
	}
	l, r = valueType(l), valueType(r)
	if isString(l) != isString(r) && l.ID() != arrow.NULL && r.ID() != arrow.NULL {
		return nil, mismatch(n)
	}
	return unionOf(n, []arrow.DataType{l, r})
}

// anyIn returns the rows of which one element at least is in the set of elements.
func anyIn(l lists, elems bitset) bitset {
	n := len(l.off) - 1
	return collect(n, func(i int) bool {
		for j := l.off[i]; j < l.off[i+1]; j++ {
			if elems.has(int(j)) {
				return true
			}
		}
		return false
	})
}

// evalArrayHas is NULL if the list or the value is. A NULL among the elements is not equal
// to anything.
func evalArrayHas(m *meter.Meter, _ *node, args []vec, _ bitset) (vec, error) {
	list, x := args[0], args[1]
	n, konst := width(list, x)
	out := vec{typ: typeBool, n: n, konst: konst, valid: bothValid(list, x, n)}
	l := list.data.(lists)
	if x.konst {
		if x.isNull(0) {
			return nullVec(typeBool), nil
		}
		out.data = anyIn(l, truth(compare(opEq, l.elems, x), true))
		return out, nil
	}
	// The value varies: compare by keys.
	var want, have []byte
	var err error
	work := 4 * rowWork(args)
	out.data = collect(n, func(i int) bool {
		if err != nil || out.valid != nil && !out.valid.has(i) {
			return false
		}
		if err = m.Step(work); err != nil {
			return false
		}
		want = x.appendKey(want[:0], i)
		row := list.at(i)
		for j := int(l.off[row]); j < int(l.off[row+1]); j++ {
			if have = l.elems.appendKey(have[:0], j); string(have) == string(want) && !l.elems.isNull(j) {
				return true
			}
		}
		return false
	})
	return out, err
}

func evalArrayHasAny(m *meter.Meter, _ *node, args []vec, _ bitset) (vec, error) {
	return overlap(m, args[0], args[1], func(have map[string]struct{}, want []string) bool {
		for _, w := range want {
			if _, ok := have[w]; ok {
				return true
			}
		}
		return false
	}, false)
}

func evalArrayHasAll(m *meter.Meter, _ *node, args []vec, _ bitset) (vec, error) {
	return overlap(m, args[0], args[1], func(have map[string]struct{}, want []string) bool {
		for _, w := range want {
			if _, ok := have[w]; !ok {
				return false
			}
		}
		return true
	}, true)
}

// overlap tests lists against lists. Other than for array_has, a NULL among the elements
// equals a NULL. A constant list without elements has the same answer for all rows, also
// for those where the other list is NULL.
func overlap(m *meter.Meter, list, wanted vec, test func(have map[string]struct{}, want []string) bool, empty bool) (vec, error) {
	n, konst := width(list, wanted)
	out := vec{typ: typeBool, n: n, konst: konst, valid: bothValid(list, wanted, n)}
	l, w := list.data.(lists), wanted.data.(lists)
	var want []string
	if wanted.konst && !wanted.isNull(0) {
		if err := takeKeys(m, wanted.bytes()); err != nil {
			return vec{}, err
		}
		if want = w.keys(0); len(want) == 0 {
			return boolConstant(empty), nil
		}
	}
	have := map[string]struct{}{}
	var err error
	out.data = collect(n, func(i int) bool {
		if err != nil || out.valid != nil && !out.valid.has(i) {
			return false
		}
		size := 0
		if !list.konst || len(have) == 0 {
			size = list.listBytes(i)
		}
		if !wanted.konst {
			size += wanted.listBytes(i)
		}
		if err = takeKeys(m, size); err != nil {
			return false
		}
		if !list.konst || len(have) == 0 {
			clear(have)
			for _, k := range l.keys(list.at(i)) {
				have[k] = struct{}{}
			}
		}
		if !wanted.konst {
			want = w.keys(i)
		}
		if !list.konst {
			m.Give(keysOf(size))
		}
		if err = m.Step(8 * len(want)); err != nil {
			return false
		}
		return test(have, want)
	})
	return out, err
}

// takeKeys takes what the keys of the elements of a row may use, and counts the work to make
// them. keysOf says how much to give back.
func takeKeys(m *meter.Meter, bytes int) error {
	if err := m.Take(keysOf(bytes)); err != nil {
		return err
	}
	return m.Step(keysOf(bytes))
}

// keysOf is about what a set of keys takes of elements of so many bytes.
func keysOf(bytes int) int { return 12 * bytes }
