package list

import (
	"bytes"
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/meter"
)

// listEditFunctions make lists from the elements of other lists.
var listEditFunctions = map[string]*expr.Function{
	"array_compact":     {MinArgs: 1, MaxArgs: 1, Bind: bindLists(expr.LikeFirst), Eval: evalArrayCompact},
	"array_except":      {MinArgs: 2, MaxArgs: 2, Bind: bindTwoLists, Eval: evalArrayExcept},
	"array_intersect":   {MinArgs: 2, MaxArgs: 2, Bind: bindTwoLists, Eval: evalArrayIntersect},
	"array_union":       {MinArgs: 2, MaxArgs: 2, Bind: bindTwoLists, Eval: evalArrayUnion},
	"array_positions":   {MinArgs: 2, MaxArgs: 2, Bind: bindListAndValue(expr.Gives(arrow.ListOf(column.TypeUint64))), Eval: evalArrayPositions},
	"array_remove_n":    {MinArgs: 3, MaxArgs: 3, Bind: bindListEdit, Eval: evalArrayRemoveN},
	"array_replace":     {MinArgs: 3, MaxArgs: 3, Bind: bindListEdit, Eval: replacer(1)},
	"array_replace_n":   {MinArgs: 4, MaxArgs: 4, Bind: bindListEdit, Eval: evalArrayReplaceN},
	"array_replace_all": {MinArgs: 3, MaxArgs: 3, Bind: bindListEdit, Eval: replacer(math.MaxInt64)},
	"array_resize":      {MinArgs: 2, MaxArgs: 3, Bind: bindArrayResize, Eval: evalArrayResize},
	"array_slice":       {MinArgs: 3, MaxArgs: 4, Bind: expr.Signature(expr.LikeFirst, anyList, expr.WholeNumber), Eval: evalArraySlice},
	"array_repeat":      {MinArgs: 2, MaxArgs: 2, Bind: bindArrayRepeat, Eval: evalArrayRepeat},
	"flatten":           {MinArgs: 1, MaxArgs: 1, Bind: bindFlatten, Eval: evalFlatten},
}

// evalArrayCompact removes NULL elements.
func evalArrayCompact(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	elems := args[0].Data.(column.Lists).Elems
	return editLists(m, n, args, rows, func(_, from, to int) []int {
		var kept []int
		for j := from; j < to; j++ {
			if !elems.IsNull(j) {
				kept = append(kept, j)
			}
		}
		return kept
	})
}

// bindTwoLists casts the elements of two lists to one type. The result is a list of that type.
func bindTwoLists(n *expr.Node) (*expr.Node, error) {
	for _, a := range n.Args {
		if other := n.Args[0].Type; a.Type.ID() == arrow.NULL {
			if !column.IsSimpleList(other) {
				other = n.Args[1].Type
			}
			if !column.IsSimpleList(other) {
				return nil, expr.Mismatch(n)
			}
			return expr.Literal(column.Null(anyList(other)), n.Pos), nil
		}
	}
	n, err := bindArrayHasMany(n)
	if err == nil {
		n.Type = n.Args[0].Type
	}
	return n, err
}

// elementSet returns the keys of the elements of a list.
func elementSet(v column.Vec, from, to int) map[string]bool {
	set := make(map[string]bool, min(to-from, 64))
	for j := from; j < to; j++ {
		set[string(v.ElementKey(nil, j))] = true
	}
	return set
}

// pickDifferent makes lists of distinct elements of two lists. pick calls add for the elements of row i;
// repeated elements are ignored.
func pickDifferent(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset, pick func(i int, add func(source, slot int))) (column.Vec, error) {
	sources := []column.Vec{args[0].Data.(column.Lists).Elems, args[1].Data.(column.Lists).Elems}
	size, _ := column.Width(args...)
	b := column.NewListBuilder(m, size, sources...)
	seen := map[string]bool{}
	add := func(source, slot int) {
		if key := string(sources[source].ElementKey(nil, slot)); !seen[key] {
			seen[key] = true
			b.Add(source, slot)
		}
	}
	return expr.ListRows(n, args, rows, b, func(i int) bool {
		size := args[0].ListBytes(i) + args[1].ListBytes(i)
		if b.Refused() != nil || b.Refuse(takeKeys(m, size)) {
			return false
		}
		clear(seen)
		pick(i, add)
		m.Give(keysOf(size))
		return true
	})
}

// evalArrayUnion returns the distinct elements of two lists, those of the first list first.
func evalArrayUnion(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return pickDifferent(m, n, args, rows, func(i int, add func(source, slot int)) {
		for source, list := range args {
			_, span := list.ListsOf()
			for j, end := span(i); j < end; j++ {
				add(source, j)
			}
		}
	})
}

func evalArrayExcept(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return pickDifferent(m, n, args, rows, func(i int, add func(source, slot int)) {
		addWhere(args, i, 0, false, add)
	})
}

// evalArrayIntersect keeps the order of the longer list, or of the first if they have equal
// length.
func evalArrayIntersect(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return pickDifferent(m, n, args, rows, func(i int, add func(source, slot int)) {
		_, first := args[0].ListsOf()
		_, second := args[1].ListsOf()
		from, to := first(i)
		source := 0
		if from2, to2 := second(i); to-from < to2-from2 {
			source = 1
		}
		addWhere(args, i, source, true, add)
	})
}

// addWhere adds the elements of one list that are in the other list or, if shared is false, those that are
// not.
func addWhere(args []column.Vec, i, source int, shared bool, add func(source, slot int)) {
	l, span := args[source].ListsOf()
	other, otherSpan := args[1-source].ListsOf()
	first, end := otherSpan(i)
	set := elementSet(other.Elems, first, end)
	var key []byte
	for j, end := span(i); j < end; j++ {
		if key = l.Elems.ElementKey(key[:0], j); set[string(key)] == shared {
			add(source, j)
		}
	}
}

// evalArrayPositions counts from 1. NULL equals NULL.
func evalArrayPositions(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	l, span := args[0].ListsOf()
	x := args[1]
	out, live := expr.StrictRows(n, args, args[:1], rows)
	positions, off := []uint64{}, make([]int64, 1, out.N+1)
	var want, have []byte
	each := 8 * column.RowWork(args)
	for i := range out.N {
		if live == nil || live.Has(i) {
			want = x.ElementKey(want[:0], x.Slot(i))
			from, to := span(i)
			if err := m.Take(8 * (to - from)); err != nil {
				return column.Vec{}, err
			}
			if err := m.Step(each); err != nil {
				return column.Vec{}, err
			}
			for j := from; j < to; j++ {
				if have = l.Elems.ElementKey(have[:0], j); bytes.Equal(want, have) {
					positions = append(positions, uint64(j-from+1))
				}
			}
		}
		off = append(off, int64(len(positions)))
	}
	out.Data = column.Lists{Off: off, Elems: column.Vec{Type: column.TypeUint64, N: len(positions), Data: positions}}
	return out, nil
}

// bindListEdit accepts a list, one or two values of the element type, and a final count if the name ends
// with _n.
func bindListEdit(n *expr.Node) (*expr.Node, error) {
	list := n.Args[0].Type
	if !column.IsList(list) {
		return nil, expr.Mismatch(n)
	}
	values, counted := n.Args[1:], n.Func.Name == "array_remove_n" || n.Func.Name == "array_replace_n"
	if counted {
		values = values[:len(values)-1]
	}
	elem := column.ValueType(column.ElemType(list))
	for _, v := range values {
		var err error
		if elem, err = elementType(n, elem, v.Type); err != nil {
			return nil, err
		}
	}
	types := []arrow.DataType{column.ListLike(list, elem)}
	for range values {
		types = append(types, elem)
	}
	if counted {
		count := expr.WholeNumber(n.Args[len(n.Args)-1].Type)
		if count == nil {
			return nil, expr.Mismatch(n)
		}
		types = append(types, count)
	}
	return expr.CastArgs(n, types[0], types...)
}

// evalArrayRemoveN removes the first n elements that equal the value.
func evalArrayRemoveN(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	elems, x, most := args[0].Data.(column.Lists).Elems, args[1], column.ValuesOf[int64](args[2])
	return editLists(m, n, args[:2], rows, func(i, from, to int) []int {
		want := x.ElementKey(nil, x.Slot(i))
		var have []byte
		var kept []int
		removed := int64(0)
		for j := from; j < to; j++ {
			have = elems.ElementKey(have[:0], j)
			if removed < most(i) && bytes.Equal(have, want) {
				removed++
				continue
			}
			kept = append(kept, j)
		}
		return kept
	})
}

// replacer returns an evaluation that replaces the first most elements equal to a value.
func replacer(most int64) func(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return func(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
		return replaceElements(m, n, args, rows, func(int) int64 { return most })
	}
}

func evalArrayReplaceN(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return replaceElements(m, n, args, rows, column.ValuesOf[int64](args[3]))
}

// replaceElements replaces elements that equal args[1] by args[2]; NULL equals NULL. The
// result is NULL only if the list is.
func replaceElements(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset, most func(i int) int64) (column.Vec, error) {
	l, span := args[0].ListsOf()
	from, to := args[1], args[2]
	out, live := expr.StrictRows(n, args, args[:1], rows)
	b := column.NewListBuilder(m, out.N, l.Elems, to)
	var want, have []byte
	for i := range out.N {
		if live == nil || live.Has(i) {
			want = from.ElementKey(want[:0], from.Slot(i))
			replaced := int64(0)
			for j, end := span(i); j < end; j++ {
				have = l.Elems.ElementKey(have[:0], j)
				if replaced < most(i) && bytes.Equal(have, want) {
					replaced++
					b.Add(1, to.Slot(i))
					continue
				}
				b.Add(0, j)
			}
		}
		if err := b.End(); err != nil {
			return column.Vec{}, err
		}
	}
	var err error
	out.Data, err = b.Lists(column.ElemType(n.Type))
	return out, err
}

// bindArrayResize accepts the value for added elements, which is NULL by default.
func bindArrayResize(n *expr.Node) (*expr.Node, error) {
	list := n.Args[0].Type
	if !column.IsList(list) || expr.WholeNumber(n.Args[1].Type) == nil {
		return nil, expr.Mismatch(n)
	}
	if column.IsNested(column.ElemType(list)) {
		return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "%s of %s", n.Func.Name, list)
	}
	elem := column.ValueType(column.ElemType(list))
	if len(n.Args) == 2 {
		n = n.With(n.Args[0], n.Args[1], expr.Literal(column.Null(elem), n.Pos))
	}
	return expr.CastArgs(n, column.ListLike(list, elem), column.ListLike(list, elem), column.TypeInt64, elem)
}

// evalArrayResize truncates lists, or extends them with a fill value.
func evalArrayResize(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	l, span := args[0].ListsOf()
	length, fill := column.ValuesOf[int64](args[1]), args[2]
	out, live := expr.StrictRows(n, args, args[:2], rows)
	b := column.NewListBuilder(m, out.N, l.Elems, fill)
	for i := range out.N {
		if live == nil || live.Has(i) {
			want := length(i)
			if want < 0 {
				return column.Vec{}, sql.Errorf(sql.ErrValue, sql.NoPos, "array_resize to a negative number of elements")
			}
			if want > column.MaxMade-int64(b.Count()) {
				return column.Vec{}, m.TooMuch("lists of more than %d elements", column.MaxMade)
			}
			for j, end := span(i); j < end && want > 0; j++ {
				b.Add(0, j)
				want--
			}
			for ; want > 0; want-- {
				b.Add(1, fill.Slot(i))
			}
		}
		if err := b.End(); err != nil {
			return column.Vec{}, err
		}
	}
	var err error
	out.Data, err = b.Lists(column.ElemType(n.Type))
	return out, err
}

// evalArraySlice returns the elements between two positions, inclusive and 1-based. A negative position
// counts from the end, and a negative stride goes backwards.
func evalArraySlice(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	first, last := column.ValuesOf[int64](args[1]), column.ValuesOf[int64](args[2])
	stride := func(int) int64 { return 1 }
	if len(args) == 4 {
		stride = column.ValuesOf[int64](args[3])
	}
	var bad error
	out, err := editLists(m, n, args, rows, func(i, from, to int) []int {
		if from < to && stride(i) == 0 {
			bad = sql.Errorf(sql.ErrValue, sql.NoPos, "array_slice with a stride of 0")
		}
		if from == to || stride(i) == 0 {
			return nil
		}
		slots := sliceOf(int64(to-from), first(i), last(i), stride(i))
		for k := range slots {
			slots[k] += from
		}
		return slots
	})
	if err == nil {
		err = bad
	}
	return out, err
}

// sliceOf returns the positions, counted from 0, in a slice of a list with size elements.
func sliceOf(size, first, last, stride int64) []int {
	switch {
	case first < -size:
		first = 0
	case first < 0:
		first += size
	default:
		first = max(first-1, 0)
	}
	switch {
	case last < -size:
		last = -1
	case last < 0:
		last += size
	default:
		last = min(last-1, size-1)
	}
	var slots []int
	if first < size && last >= 0 {
		if stride < 0 {
			for at := first; at >= last; at += max(stride, -size) {
				slots = append(slots, int(at))
			}
		} else {
			for at := first; at <= last; at += min(stride, size) {
				slots = append(slots, int(at))
			}
		}
	}
	return slots
}

// bindArrayRepeat accepts values of all types but structs.
func bindArrayRepeat(n *expr.Node) (*expr.Node, error) {
	x := column.ValueType(n.Args[0].Type)
	if expr.WholeNumber(n.Args[1].Type) == nil {
		return nil, expr.Mismatch(n)
	}
	if x.ID() == arrow.STRUCT || column.IsList(x) && !column.IsSimpleList(x) {
		return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "lists of %s", x)
	}
	if column.IsList(x) {
		x = column.ListLike(x, column.ValueType(column.ElemType(x)))
	}
	return expr.CastArgs(n, arrow.ListOf(x), x, column.TypeInt64)
}

// evalArrayRepeat repeats a value, NULL included, and returns an empty list for counts below one.
func evalArrayRepeat(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	x, count := args[0], column.ValuesOf[int64](args[1])
	out, live := expr.StrictRows(n, args, args[1:], rows)
	b := column.NewListBuilder(m, out.N, x)
	for i := range out.N {
		if live == nil || live.Has(i) {
			if count(i) > column.MaxMade-int64(b.Count()) {
				return column.Vec{}, m.TooMuch("lists of more than %d elements", column.MaxMade)
			}
			for range max(count(i), 0) {
				b.Add(0, x.Slot(i))
			}
		}
		if err := b.End(); err != nil {
			return column.Vec{}, err
		}
	}
	var err error
	out.Data, err = b.Lists(column.ElemType(n.Type))
	return out, err
}

// bindFlatten accepts lists of lists, and returns other lists unchanged.
func bindFlatten(n *expr.Node) (*expr.Node, error) {
	list := n.Args[0].Type
	if list.ID() == arrow.NULL {
		return n.Args[0], nil
	}
	if !column.IsList(list) {
		return nil, expr.Mismatch(n)
	}
	inner := column.ElemType(list)
	switch {
	case !column.IsNested(inner):
		return expr.CastTo(n.Args[0], column.ListLike(list, column.ValueType(inner)))
	case !column.IsSimpleList(inner) || list.ID() == arrow.FIXED_SIZE_LIST || inner.ID() == arrow.FIXED_SIZE_LIST:
		return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "flatten of %s", list)
	}
	n = n.With(n.Args...)
	n.Type = column.ListLike(list, column.ValueType(column.ElemType(inner)))
	return n, nil
}

// evalFlatten joins the elements of the inner lists; an inner list that is NULL has none.
func evalFlatten(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	l, span := args[0].ListsOf()
	inner, innerSpan := l.Elems.ListsOf()
	size, _ := column.Width(args...)
	b := column.NewListBuilder(m, size, inner.Elems)
	return expr.ListRows(n, args, rows, b, func(i int) bool {
		for j, end := span(i); j < end; j++ {
			if l.Elems.IsNull(j) {
				continue
			}
			for k, to := innerSpan(j); k < to; k++ {
				b.Add(0, k)
			}
		}
		return true
	})
}
