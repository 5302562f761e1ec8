package sqlexpr

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
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
	elem := typeNull
	if len(n.args) > 0 {
		var err error
		if elem, err = unionOf(n, argTypes(n)); err != nil {
			return nil, err
		}
	}
	if isNested(elem) && !isSimpleList(elem) {
		return nil, sql.Errorf(sql.ErrUnsupported, n.pos, "lists of %s", elem)
	}
	if len(n.args) == 0 {
		return literal(listConstant(elem, nil), n.pos), nil
	}
	return coerceTo(n, elem, arrow.ListOf(elem))
}

func evalMakeArray(m *meter.Meter, n *node, args []vec, _ bitset) (vec, error) {
	size, konst := width(args...)
	b := newListBuilder(m, size, args...)
	for i := range size {
		for j, a := range args {
			b.add(j, a.at(i))
		}
		if err := b.end(); err != nil {
			return vec{}, err
		}
	}
	l, err := b.lists(elemType(n.typ))
	return vec{typ: n.typ, n: size, konst: konst, data: l}, err
}

// evalArrayAppend takes a list that is NULL for an empty one.
func evalArrayAppend(m *meter.Meter, n *node, args []vec, _ bitset) (vec, error) {
	return extend(m, n, args[0], args[1], false)
}

// bindArrayPrepend takes the value first.
func bindArrayPrepend(n *node) (*node, error) {
	return bindListAndValue(likeFirst)(n.with(n.args[1], n.args[0]))
}

func evalArrayPrepend(m *meter.Meter, n *node, args []vec, _ bitset) (vec, error) {
	return extend(m, n, args[0], args[1], true)
}

// extend adds a value to one end of each list.
func extend(m *meter.Meter, n *node, list, x vec, front bool) (vec, error) {
	size, konst := width(list, x)
	l, span := list.listsOf()
	b := newListBuilder(m, size, l.elems, x)
	for i := range size {
		if front {
			b.add(1, x.at(i))
		}
		if from, to := span(i); !list.isNull(i) {
			for j := from; j < to; j++ {
				b.add(0, j)
			}
		}
		if !front {
			b.add(1, x.at(i))
		}
		if err := b.end(); err != nil {
			return vec{}, err
		}
	}
	made, err := b.lists(elemType(n.typ))
	return vec{typ: n.typ, n: size, konst: konst, data: made}, err
}

// bindArrayConcat finds one type for the elements of all lists.
func bindArrayConcat(n *node) (*node, error) {
	var elem arrow.DataType
	for _, a := range n.args {
		if !isList(a.typ) {
			return nil, mismatch(n)
		}
		e := valueType(elemType(a.typ))
		if elem == nil {
			elem = e
		}
		var err error
		if elem, err = elementType(n, elem, e); err != nil {
			return nil, err
		}
	}
	return coerceTo(n, listLike(n.args[0].typ, elem), nil)
}

// evalArrayConcat is NULL only if all lists are.
func evalArrayConcat(m *meter.Meter, n *node, args []vec, _ bitset) (vec, error) {
	size, konst := width(args...)
	sources := make([]vec, len(args))
	for j, a := range args {
		sources[j] = a.data.(lists).elems
	}
	b := newListBuilder(m, size, sources...)
	valid := newBitset(size)
	for i := range size {
		for j, a := range args {
			if a.isNull(i) {
				continue
			}
			valid.set(i)
			_, span := a.listsOf()
			for from, to := span(i); from < to; from++ {
				b.add(j, from)
			}
		}
		if err := b.end(); err != nil {
			return vec{}, err
		}
	}
	made, err := b.lists(elemType(n.typ))
	return vec{typ: n.typ, n: size, konst: konst, valid: valid, data: made}, err
}

// editLists makes of each list one of its own elements: edit returns which, by their slots.
func editLists(m *meter.Meter, n *node, args []vec, rows bitset, edit func(i, from, to int) []int) (vec, error) {
	l, span := args[0].listsOf()
	size, _ := width(args...)
	b := newListBuilder(m, size, l.elems)
	return listRows(n, args, rows, b, func(i int) bool {
		from, to := span(i)
		size := args[0].listBytes(i)
		if b.refused() != nil || b.refuse(takeKeys(m, size)) {
			return false
		}
		for _, slot := range edit(i, from, to) {
			b.add(0, slot)
		}
		m.Give(keysOf(size))
		return true
	})
}

// evalArrayDistinct keeps the first of equal elements.
func evalArrayDistinct(m *meter.Meter, n *node, args []vec, rows bitset) (vec, error) {
	elems := args[0].data.(lists).elems
	return editLists(m, n, args, rows, func(_, from, to int) []int {
		seen := map[string]bool{}
		var kept []int
		for j := from; j < to; j++ {
			if key := string(elems.elementKey(nil, j)); !seen[key] {
				seen[key] = true
				kept = append(kept, j)
			}
		}
		return kept
	})
}

func evalArrayReverse(m *meter.Meter, n *node, args []vec, rows bitset) (vec, error) {
	return editLists(m, n, args, rows, func(_, from, to int) []int {
		slots := slotsFrom(from, to)
		slices.Reverse(slots)
		return slots
	})
}

func evalPopBack(m *meter.Meter, n *node, args []vec, rows bitset) (vec, error) {
	return editLists(m, n, args, rows, func(_, from, to int) []int { return slotsFrom(from, to-1) })
}

func evalPopFront(m *meter.Meter, n *node, args []vec, rows bitset) (vec, error) {
	return editLists(m, n, args, rows, func(_, from, to int) []int { return slotsFrom(from+1, to) })
}

// bindArraySort takes ASC or DESC, and NULLS FIRST or NULLS LAST, as constants.
func bindArraySort(n *node) (*node, error) {
	for _, a := range n.args[1:] {
		if !isText(a, "ASC") && !isText(a, "DESC") && !isText(a, "NULLS FIRST") && !isText(a, "NULLS LAST") {
			return nil, sql.Errorf(sql.ErrUnsupported, a.pos, "array_sort with other words than ASC, DESC, NULLS FIRST and NULLS LAST")
		}
	}
	list := n.args[0].typ
	if !isList(list) {
		return nil, mismatch(n)
	}
	if isNested(elemType(list)) {
		return nil, sql.Errorf(sql.ErrUnsupported, n.pos, "array_sort of %s", list)
	}
	types := argTypes(n)
	types[0] = anyList(list)
	return castArgs(n, types[0], types...)
}

// evalArraySort puts NULLs first unless it is told otherwise.
func evalArraySort(m *meter.Meter, n *node, args []vec, rows bitset) (vec, error) {
	elems := args[0].data.(lists).elems
	rank, err := elems.ordering(m)
	if err != nil {
		return vec{}, err
	}
	desc := len(args) > 1 && isText(n.args[1], "DESC")
	nullsLast := len(args) > 2 && isText(n.args[2], "NULLS LAST")
	return editLists(m, n, args[:1], rows, func(_, from, to int) []int {
		slots := slotsFrom(from, to)
		slices.SortStableFunc(slots, func(a, b int) int {
			aNull, bNull := elems.isNull(a), elems.isNull(b)
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
func remover(most int) func(m *meter.Meter, n *node, args []vec, rows bitset) (vec, error) {
	return func(m *meter.Meter, n *node, args []vec, rows bitset) (vec, error) {
		elems, x := args[0].data.(lists).elems, args[1]
		return editLists(m, n, args, rows, func(i, from, to int) []int {
			want := x.elementKey(nil, x.at(i))
			var have []byte
			var kept []int
			removed := 0
			for j := from; j < to; j++ {
				have = elems.elementKey(have[:0], j)
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
	return signature(gives(arrow.ListOf(typeString)), asText)(n)
}

// evalStringToArray makes a list of the pieces between delimiters: an empty one of the empty
// string, one of characters if the delimiter is NULL, and the string if it is empty.
func evalStringToArray(m *meter.Meter, n *node, args []vec, rows bitset) (vec, error) {
	out, live := strictRows(n, args, args[:1], rows)
	str, sep := args[0].texts(), args[1].texts()
	elems, valid, off := newTextBuilder(m, out.n), []bool{}, make([]int64, 1, out.n+1)
	for i := range out.n {
		if live == nil || live.has(i) {
			if err := m.Take(pieceBytes * pieces(str(i), sep(i), args[1].isNull(i))); err != nil {
				return vec{}, err
			}
			if err := elems.reserve(len(str(i))); err != nil {
				return vec{}, err
			}
			if err := m.Step(8 * len(str(i))); err != nil {
				return vec{}, err
			}
			for _, piece := range splitText(str(i), sep(i), args[1].isNull(i)) {
				null := len(args) == 3 && !args[2].isNull(i) && bytes.Equal(piece, args[2].texts()(i))
				valid = append(valid, !null)
				elems.data = append(elems.data, piece...)
				elems.done()
			}
		}
		off = append(off, int64(len(valid)))
	}
	have := newBitset(len(valid))
	for i, ok := range valid {
		if ok {
			have.set(i)
		}
	}
	out.data = lists{off: off, elems: vec{typ: typeString, n: len(valid), valid: have, data: elems.text()}}
	return out, nil
}

// pieceBytes is what a piece takes until it is in a list: itself, its offset and whether it is
// NULL, twice where slices grow.
const pieceBytes = 2*viewBytes + 2*8 + 2

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
