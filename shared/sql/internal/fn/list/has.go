package list

import (
	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/compute"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/meter"
)

// If the list is NULL, the result of these functions is NULL. NULL among the elements is
// treated differently: array_has never finds it, while array_has_any and array_has_all
// treat NULL as equal to NULL.

// bindArrayHas casts the elements and the value to one type.
func bindArrayHas(n *expr.Node) (*expr.Node, error) {
	list, x := n.Args[0].Type, n.Args[1].Type
	if list.ID() == arrow.NULL {
		return expr.Literal(column.Null(column.TypeBool), n.Pos), nil
	}
	if !column.IsList(list) {
		return nil, expr.Mismatch(n)
	}
	elem, err := elementType(n, column.ElemType(list), x)
	if err != nil {
		return nil, err
	}
	return expr.CastArgs(n, column.TypeBool, column.ListLike(list, elem), elem)
}

// bindArrayHasMany casts the elements of two lists to one type.
func bindArrayHasMany(n *expr.Node) (*expr.Node, error) {
	l, r := n.Args[0].Type, n.Args[1].Type
	if l.ID() == arrow.NULL || r.ID() == arrow.NULL {
		return expr.Literal(column.Null(column.TypeBool), n.Pos), nil
	}
	if !column.IsList(l) || !column.IsList(r) {
		return nil, expr.Mismatch(n)
	}
	elem, err := elementType(n, column.ElemType(l), column.ElemType(r))
	if err != nil {
		return nil, err
	}
	return expr.CastArgs(n, column.TypeBool, column.ListLike(l, elem), column.ListLike(r, elem))
}

// elementType returns the common type of elements. It refuses strings with other types, although they have
// a common type.
func elementType(n *expr.Node, l, r arrow.DataType) (arrow.DataType, error) {
	if column.IsNested(l) || column.IsNested(r) {
		return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "%s of %s and %s", n.Func.Name, l, r)
	}
	l, r = column.ValueType(l), column.ValueType(r)
	if column.IsString(l) != column.IsString(r) && l.ID() != arrow.NULL && r.ID() != arrow.NULL {
		return nil, expr.Mismatch(n)
	}
	return expr.UnionOf(n, []arrow.DataType{l, r})
}

// anyIn returns the lists that have at least one element in elems.
func anyIn(l column.Lists, elems column.Bitset) column.Bitset {
	n := len(l.Off) - 1
	return column.Collect(n, func(i int) bool {
		for j := l.Off[i]; j < l.Off[i+1]; j++ {
			if elems.Has(int(j)) {
				return true
			}
		}
		return false
	})
}

// evalArrayHas is NULL if the list or the value is. A NULL among the elements is not equal
// to anything.
func evalArrayHas(m *meter.Meter, _ *expr.Node, args []column.Vec, _ column.Bitset) (column.Vec, error) {
	list, x := args[0], args[1]
	n, konst := column.Width(list, x)
	out := column.Vec{Type: column.TypeBool, N: n, Const: konst, Valid: column.BothValid(list, x, n)}
	l := list.Data.(column.Lists)
	if x.Const {
		if x.IsNull(0) {
			return column.Null(column.TypeBool), nil
		}
		out.Data = anyIn(l, compute.Truth(compute.Compare(expr.OpEq, l.Elems, x), true))
		return out, nil
	}
	// The value varies: compare by keys.
	var want, have []byte
	var err error
	work := 4 * column.RowWork(args)
	out.Data = column.Collect(n, func(i int) bool {
		if err != nil || out.Valid != nil && !out.Valid.Has(i) {
			return false
		}
		if err = m.Step(work); err != nil {
			return false
		}
		want = x.AppendKey(want[:0], i)
		row := list.Slot(i)
		for j := int(l.Off[row]); j < int(l.Off[row+1]); j++ {
			if have = l.Elems.AppendKey(have[:0], j); string(have) == string(want) && !l.Elems.IsNull(j) {
				return true
			}
		}
		return false
	})
	return out, err
}

// evalArrayHasAny tests whether two lists have a common element.
func evalArrayHasAny(m *meter.Meter, _ *expr.Node, args []column.Vec, _ column.Bitset) (column.Vec, error) {
	return overlap(m, args[0], args[1], func(have map[string]struct{}, want []string) bool {
		for _, w := range want {
			if _, ok := have[w]; ok {
				return true
			}
		}
		return false
	}, false)
}

// evalArrayHasAll tests whether the first list contains all elements of the second. That is true for an
// empty second list.
func evalArrayHasAll(m *meter.Meter, _ *expr.Node, args []column.Vec, _ column.Bitset) (column.Vec, error) {
	return overlap(m, args[0], args[1], func(have map[string]struct{}, want []string) bool {
		for _, w := range want {
			if _, ok := have[w]; !ok {
				return false
			}
		}
		return true
	}, true)
}

// overlap tests the elements of two lists. Unlike array_has, it treats NULL elements as equal. A constant
// list without elements gives the same result for all rows, even where the other list is NULL.
func overlap(m *meter.Meter, list, wanted column.Vec, test func(have map[string]struct{}, want []string) bool, empty bool) (column.Vec, error) {
	n, konst := column.Width(list, wanted)
	out := column.Vec{Type: column.TypeBool, N: n, Const: konst, Valid: column.BothValid(list, wanted, n)}
	l, w := list.Data.(column.Lists), wanted.Data.(column.Lists)
	var want []string
	if wanted.Const && !wanted.IsNull(0) {
		if err := takeKeys(m, wanted.Bytes()); err != nil {
			return column.Vec{}, err
		}
		if want = w.Keys(0); len(want) == 0 {
			return column.BoolConstant(empty), nil
		}
	}
	have := map[string]struct{}{}
	var err error
	out.Data = column.Collect(n, func(i int) bool {
		if err != nil || out.Valid != nil && !out.Valid.Has(i) {
			return false
		}
		size := 0
		if !list.Const || len(have) == 0 {
			size = list.ListBytes(i)
		}
		if !wanted.Const {
			size += wanted.ListBytes(i)
		}
		if err = takeKeys(m, size); err != nil {
			return false
		}
		if !list.Const || len(have) == 0 {
			clear(have)
			for _, k := range l.Keys(list.Slot(i)) {
				have[k] = struct{}{}
			}
		}
		if !wanted.Const {
			want = w.Keys(i)
		}
		if !list.Const {
			m.Give(keysOf(size))
		}
		if err = m.Step(8 * len(want)); err != nil {
			return false
		}
		return test(have, want)
	})
	return out, err
}

// takeKeys reserves the memory for the keys of a row's elements, and counts their work. The caller returns
// keysOf(bytes).
func takeKeys(m *meter.Meter, bytes int) error {
	if err := m.Take(keysOf(bytes)); err != nil {
		return err
	}
	return m.Step(keysOf(bytes))
}

// keysOf estimates the memory of a set of keys for elements of the given total size.
func keysOf(bytes int) int { return 12 * bytes }
