package sqlexpr

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/column"
	"tiltyard/shared/sql/meter"
)

// listMakeFunctions are those that make lists.
var listMakeFunctions = map[string]*function{
	"make_array":       {minArgs: 0, maxArgs: 200, bind: bindMakeArray, eval: evalMakeArray},
	"array_append":     {minArgs: 2, maxArgs: 2, bind: bindListAndValue(likeFirst), eval: evalArrayAppend},
	"array_prepend":    {minArgs: 2, maxArgs: 2, bind: bindArrayPrepend, eval: evalArrayPrepend},
	"array_concat":     {minArgs: 1, maxArgs: 100, bind: bindArrayConcat, eval: evalArrayConcat},
	"array_distinct":   {minArgs: 1, maxArgs: 1, bind: bindLists(likeFirst), eval: evalArrayDistinct},
	"array_reverse":    {minArgs: 1, maxArgs: 1, bind: bindLists(likeFirst), eval: evalArrayReverse},
	"array_sort":       {minArgs: 1, maxArgs: 3, bind: bindArraySort, eval: evalArraySort},
	"array_pop_back":   {minArgs: 1, maxArgs: 1, bind: bindLists(likeFirst), eval: evalPopBack},
	"array_pop_front":  {minArgs: 1, maxArgs: 1, bind: bindLists(likeFirst), eval: evalPopFront},
	"array_remove":     {minArgs: 2, maxArgs: 2, bind: bindListAndValue(likeFirst), eval: remover(1)},
	"array_remove_all": {minArgs: 2, maxArgs: 2, bind: bindListAndValue(likeFirst), eval: remover(-1)},
	"string_to_array":  {minArgs: 2, maxArgs: 3, bind: bindStringToArray, eval: evalStringToArray},
}

// bindMakeArray finds one type for the elements.
func bindMakeArray(n *node) (*node, error) {
	elem := column.TypeNull
	if len(n.args) > 0 {
		var err error
		if elem, err = unionOf(n, argTypes(n)); err != nil {
			return nil, err
		}
	}
	if column.IsNested(elem) && !column.IsSimpleList(elem) {
		return nil, sql.Errorf(sql.ErrUnsupported, n.pos, "lists of %s", elem)
	}
	if len(n.args) == 0 {
		return literal(column.ListConstant(elem, nil), n.pos), nil
	}
	return coerceTo(n, elem, arrow.ListOf(elem))
}

func evalMakeArray(m *meter.Meter, n *node, args []column.Vec, _ column.Bitset) (column.Vec, error) {
	size, konst := column.Width(args...)
	b := column.NewListBuilder(m, size, args...)
	for i := range size {
		for j, a := range args {
			b.Add(j, a.Slot(i))
		}
		if err := b.End(); err != nil {
			return column.Vec{}, err
		}
	}
	l, err := b.Lists(column.ElemType(n.typ))
	return column.Vec{Type: n.typ, N: size, Const: konst, Data: l}, err
}

// evalArrayAppend takes a list that is NULL for an empty one.
func evalArrayAppend(m *meter.Meter, n *node, args []column.Vec, _ column.Bitset) (column.Vec, error) {
	return extend(m, n, args[0], args[1], false)
}

// bindArrayPrepend takes the value first.
func bindArrayPrepend(n *node) (*node, error) {
	return bindListAndValue(likeFirst)(n.with(n.args[1], n.args[0]))
}

func evalArrayPrepend(m *meter.Meter, n *node, args []column.Vec, _ column.Bitset) (column.Vec, error) {
	return extend(m, n, args[0], args[1], true)
}

// extend adds a value to one end of each list.
func extend(m *meter.Meter, n *node, list, x column.Vec, front bool) (column.Vec, error) {
	size, konst := column.Width(list, x)
	l, span := list.ListsOf()
	b := column.NewListBuilder(m, size, l.Elems, x)
	for i := range size {
		if front {
			b.Add(1, x.Slot(i))
		}
		if from, to := span(i); !list.IsNull(i) {
			for j := from; j < to; j++ {
				b.Add(0, j)
			}
		}
		if !front {
			b.Add(1, x.Slot(i))
		}
		if err := b.End(); err != nil {
			return column.Vec{}, err
		}
	}
	made, err := b.Lists(column.ElemType(n.typ))
	return column.Vec{Type: n.typ, N: size, Const: konst, Data: made}, err
}

// bindArrayConcat finds one type for the elements of all lists.
func bindArrayConcat(n *node) (*node, error) {
	var elem arrow.DataType
	for _, a := range n.args {
		if !column.IsList(a.typ) {
			return nil, mismatch(n)
		}
		e := column.ValueType(column.ElemType(a.typ))
		if elem == nil {
			elem = e
		}
		var err error
		if elem, err = elementType(n, elem, e); err != nil {
			return nil, err
		}
	}
	return coerceTo(n, column.ListLike(n.args[0].typ, elem), nil)
}

// evalArrayConcat is NULL only if all lists are.
func evalArrayConcat(m *meter.Meter, n *node, args []column.Vec, _ column.Bitset) (column.Vec, error) {
	size, konst := column.Width(args...)
	sources := make([]column.Vec, len(args))
	for j, a := range args {
		sources[j] = a.Data.(column.Lists).Elems
	}
	b := column.NewListBuilder(m, size, sources...)
	valid := column.NewBitset(size)
	for i := range size {
		for j, a := range args {
			if a.IsNull(i) {
				continue
			}
			valid.Set(i)
			_, span := a.ListsOf()
			for from, to := span(i); from < to; from++ {
				b.Add(j, from)
			}
		}
		if err := b.End(); err != nil {
			return column.Vec{}, err
		}
	}
	made, err := b.Lists(column.ElemType(n.typ))
	return column.Vec{Type: n.typ, N: size, Const: konst, Valid: valid, Data: made}, err
}

// editLists makes of each list one of its own elements: edit returns which, by their slots.
func editLists(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset, edit func(i, from, to int) []int) (column.Vec, error) {
	l, span := args[0].ListsOf()
	size, _ := column.Width(args...)
	b := column.NewListBuilder(m, size, l.Elems)
	return listRows(n, args, rows, b, func(i int) bool {
		from, to := span(i)
		size := args[0].ListBytes(i)
		if b.Refused() != nil || b.Refuse(takeKeys(m, size)) {
			return false
		}
		for _, slot := range edit(i, from, to) {
			b.Add(0, slot)
		}
		m.Give(keysOf(size))
		return true
	})
}

// evalArrayDistinct keeps the first of equal elements.
func evalArrayDistinct(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	elems := args[0].Data.(column.Lists).Elems
	return editLists(m, n, args, rows, func(_, from, to int) []int {
		seen := map[string]bool{}
		var kept []int
		for j := from; j < to; j++ {
			if key := string(elems.ElementKey(nil, j)); !seen[key] {
				seen[key] = true
				kept = append(kept, j)
			}
		}
		return kept
	})
}

func evalArrayReverse(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return editLists(m, n, args, rows, func(_, from, to int) []int {
		slots := column.SlotsFrom(from, to)
		slices.Reverse(slots)
		return slots
	})
}

func evalPopBack(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return editLists(m, n, args, rows, func(_, from, to int) []int { return column.SlotsFrom(from, to-1) })
}

func evalPopFront(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return editLists(m, n, args, rows, func(_, from, to int) []int { return column.SlotsFrom(from+1, to) })
}

// bindArraySort takes ASC or DESC, and NULLS FIRST or NULLS LAST, as constants.
func bindArraySort(n *node) (*node, error) {
	for _, a := range n.args[1:] {
		if !isText(a, "ASC") && !isText(a, "DESC") && !isText(a, "NULLS FIRST") && !isText(a, "NULLS LAST") {
			return nil, sql.Errorf(sql.ErrUnsupported, a.pos, "array_sort with other words than ASC, DESC, NULLS FIRST and NULLS LAST")
		}
	}
	list := n.args[0].typ
	if !column.IsList(list) {
		return nil, mismatch(n)
	}
	if column.IsNested(column.ElemType(list)) {
		return nil, sql.Errorf(sql.ErrUnsupported, n.pos, "array_sort of %s", list)
	}
	types := argTypes(n)
	types[0] = anyList(list)
	return castArgs(n, types[0], types...)
}

// evalArraySort puts NULLs first unless it is told otherwise.
func evalArraySort(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	elems := args[0].Data.(column.Lists).Elems
	rank, err := elems.Ranks(m)
	if err != nil {
		return column.Vec{}, err
	}
	desc := len(args) > 1 && isText(n.args[1], "DESC")
	nullsLast := len(args) > 2 && isText(n.args[2], "NULLS LAST")
	return editLists(m, n, args[:1], rows, func(_, from, to int) []int {
		slots := column.SlotsFrom(from, to)
		slices.SortStableFunc(slots, func(a, b int) int {
			aNull, bNull := elems.IsNull(a), elems.IsNull(b)
			switch {
			case aNull && bNull:
				return 0
			case aNull != bNull:
				if aNull == nullsLast {
					return 1
				}
				return -1
			case desc:
				return rank[b] - rank[a]
			}
			return rank[a] - rank[b]
		})
		return slots
	})
}

// remover removes so many elements that equal a value, -1 being all.
func remover(most int) func(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return func(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
		elems, x := args[0].Data.(column.Lists).Elems, args[1]
		return editLists(m, n, args, rows, func(i, from, to int) []int {
			want := x.ElementKey(nil, x.Slot(i))
			var have []byte
			var kept []int
			removed := 0
			for j := from; j < to; j++ {
				have = elems.ElementKey(have[:0], j)
				if removed != most && bytes.Equal(have, want) {
					removed++
					continue
				}
				kept = append(kept, j)
			}
			return kept
		})
	}
}

// bindStringToArray takes a delimiter and what becomes NULL.
func bindStringToArray(n *node) (*node, error) {
	return signature(gives(arrow.ListOf(column.TypeString)), asText)(n)
}

// evalStringToArray makes a list of the pieces between delimiters: an empty one of the empty
// string, one of characters if the delimiter is NULL, and the string if it is empty.
func evalStringToArray(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	out, live := strictRows(n, args, args[:1], rows)
	str, sep := args[0].Texts(), args[1].Texts()
	elems, valid, off := column.NewTextBuilder(m, out.N), []bool{}, make([]int64, 1, out.N+1)
	for i := range out.N {
		if live == nil || live.Has(i) {
			if err := m.Take(pieceBytes * pieces(str(i), sep(i), args[1].IsNull(i))); err != nil {
				return column.Vec{}, err
			}
			if err := elems.Reserve(len(str(i))); err != nil {
				return column.Vec{}, err
			}
			if err := m.Step(8 * len(str(i))); err != nil {
				return column.Vec{}, err
			}
			for _, piece := range splitText(str(i), sep(i), args[1].IsNull(i)) {
				null := len(args) == 3 && !args[2].IsNull(i) && bytes.Equal(piece, args[2].Texts()(i))
				valid = append(valid, !null)
				elems.Data = append(elems.Data, piece...)
				elems.Done()
			}
		}
		off = append(off, int64(len(valid)))
	}
	have := column.NewBitset(len(valid))
	for i, ok := range valid {
		if ok {
			have.Set(i)
		}
	}
	out.Data = column.Lists{Off: off, Elems: column.Vec{Type: column.TypeString, N: len(valid), Valid: have, Data: elems.Text()}}
	return out, nil
}

// pieceBytes is what a piece takes until it is in a list: itself, its offset and whether it is
// NULL, twice where slices grow.
const pieceBytes = 2*column.ViewBytes + 2*8 + 2

// pieces bounds how many pieces there are.
func pieces(s, sep []byte, chars bool) int {
	switch {
	case chars:
		return utf8.RuneCount(s)
	case len(sep) == 0:
		return 1
	}
	return bytes.Count(s, sep) + 1
}

func splitText(s, sep []byte, chars bool) [][]byte {
	var pieces [][]byte
	switch {
	case len(s) == 0:
		return nil
	case chars:
		for len(s) > 0 {
			_, size := utf8.DecodeRune(s)
			pieces = append(pieces, s[:size])
			s = s[size:]
		}
		return pieces
	case len(sep) == 0:
		return [][]byte{s}
	}
	return bytes.Split(s, sep)
}
