package list

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/meter"
)

// listMakeFunctions are the functions that make lists.
var listMakeFunctions = map[string]*expr.Function{
	"make_array":       {MinArgs: 0, MaxArgs: 200, Bind: BindMakeArray, Eval: EvalMakeArray},
	"array_append":     {MinArgs: 2, MaxArgs: 2, Bind: bindListAndValue(expr.LikeFirst), Eval: evalArrayAppend},
	"array_prepend":    {MinArgs: 2, MaxArgs: 2, Bind: bindArrayPrepend, Eval: evalArrayPrepend},
	"array_concat":     {MinArgs: 1, MaxArgs: 100, Bind: bindArrayConcat, Eval: evalArrayConcat},
	"array_distinct":   {MinArgs: 1, MaxArgs: 1, Bind: bindLists(expr.LikeFirst), Eval: evalArrayDistinct},
	"array_reverse":    {MinArgs: 1, MaxArgs: 1, Bind: bindLists(expr.LikeFirst), Eval: evalArrayReverse},
	"array_sort":       {MinArgs: 1, MaxArgs: 3, Bind: bindArraySort, Eval: evalArraySort},
	"array_pop_back":   {MinArgs: 1, MaxArgs: 1, Bind: bindLists(expr.LikeFirst), Eval: evalPopBack},
	"array_pop_front":  {MinArgs: 1, MaxArgs: 1, Bind: bindLists(expr.LikeFirst), Eval: evalPopFront},
	"array_remove":     {MinArgs: 2, MaxArgs: 2, Bind: bindListAndValue(expr.LikeFirst), Eval: remover(1)},
	"array_remove_all": {MinArgs: 2, MaxArgs: 2, Bind: bindListAndValue(expr.LikeFirst), Eval: remover(-1)},
	"string_to_array":  {MinArgs: 2, MaxArgs: 3, Bind: bindStringToArray, Eval: evalStringToArray},
}

// BindMakeArray casts the elements to one type.
func BindMakeArray(n *expr.Node) (*expr.Node, error) {
	elem := column.TypeNull
	if len(n.Args) > 0 {
		var err error
		if elem, err = expr.UnionOf(n, expr.ArgTypes(n)); err != nil {
			return nil, err
		}
	}
	if len(n.Args) == 0 {
		return expr.Literal(column.ListConstant(elem, nil), n.Pos), nil
	}
	return expr.CoerceTo(n, elem, arrow.ListOf(elem))
}

// EvalMakeArray returns a list of its arguments.
func EvalMakeArray(m *meter.Meter, n *expr.Node, args []column.Vec, _ column.Bitset) (column.Vec, error) {
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
	l, err := b.Lists(column.ElemType(n.Type))
	return column.Vec{Type: n.Type, N: size, Const: konst, Data: l}, err
}

// evalArrayAppend treats a NULL list as an empty list.
func evalArrayAppend(m *meter.Meter, n *expr.Node, args []column.Vec, _ column.Bitset) (column.Vec, error) {
	return extend(m, n, args[0], args[1], false)
}

// bindArrayPrepend accepts the value as the first argument.
func bindArrayPrepend(n *expr.Node) (*expr.Node, error) {
	return bindListAndValue(expr.LikeFirst)(n.With(n.Args[1], n.Args[0]))
}

func evalArrayPrepend(m *meter.Meter, n *expr.Node, args []column.Vec, _ column.Bitset) (column.Vec, error) {
	return extend(m, n, args[0], args[1], true)
}

// extend adds a value to one end of each list.
func extend(m *meter.Meter, n *expr.Node, list, x column.Vec, front bool) (column.Vec, error) {
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
	made, err := b.Lists(column.ElemType(n.Type))
	return column.Vec{Type: n.Type, N: size, Const: konst, Data: made}, err
}

// bindArrayConcat casts the elements of all lists to one type.
func bindArrayConcat(n *expr.Node) (*expr.Node, error) {
	var elem arrow.DataType
	for _, a := range n.Args {
		if !column.IsList(a.Type) {
			return nil, expr.Mismatch(n)
		}
		e := column.ValueType(column.ElemType(a.Type))
		if elem == nil {
			elem = e
		}
		var err error
		if elem, err = elementType(n, elem, e); err != nil {
			return nil, err
		}
	}
	return expr.CoerceTo(n, column.ListLike(n.Args[0].Type, elem), nil)
}

// evalArrayConcat is NULL only if all lists are.
func evalArrayConcat(m *meter.Meter, n *expr.Node, args []column.Vec, _ column.Bitset) (column.Vec, error) {
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
	made, err := b.Lists(column.ElemType(n.Type))
	return column.Vec{Type: n.Type, N: size, Const: konst, Valid: valid, Data: made}, err
}

// editLists makes a list of some elements of each list; edit returns their slots.
func editLists(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset, edit func(i, from, to int) []int) (column.Vec, error) {
	l, span := args[0].ListsOf()
	size, _ := column.Width(args...)
	b := column.NewListBuilder(m, size, l.Elems)
	return expr.ListRows(n, args, rows, b, func(i int) bool {
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
func evalArrayDistinct(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
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

func evalArrayReverse(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return editLists(m, n, args, rows, func(_, from, to int) []int {
		slots := column.SlotsFrom(from, to)
		slices.Reverse(slots)
		return slots
	})
}

func evalPopBack(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return editLists(m, n, args, rows, func(_, from, to int) []int { return column.SlotsFrom(from, to-1) })
}

func evalPopFront(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return editLists(m, n, args, rows, func(_, from, to int) []int { return column.SlotsFrom(from+1, to) })
}

// bindArraySort accepts ASC or DESC, and NULLS FIRST or NULLS LAST, as constants.
func bindArraySort(n *expr.Node) (*expr.Node, error) {
	for _, a := range n.Args[1:] {
		if !expr.IsText(a, "ASC") && !expr.IsText(a, "DESC") && !expr.IsText(a, "NULLS FIRST") && !expr.IsText(a, "NULLS LAST") {
			return nil, sql.Errorf(sql.ErrUnsupported, a.Pos, "array_sort with other words than ASC, DESC, NULLS FIRST and NULLS LAST")
		}
	}
	list := n.Args[0].Type
	if !column.IsList(list) {
		return nil, expr.Mismatch(n)
	}
	if column.IsNested(column.ElemType(list)) {
		return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "array_sort of %s", list)
	}
	types := expr.ArgTypes(n)
	types[0] = anyList(list)
	return expr.CastArgs(n, types[0], types...)
}

// evalArraySort puts NULLs first by default.
func evalArraySort(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	elems := args[0].Data.(column.Lists).Elems
	rank, err := elems.Ranks(m)
	if err != nil {
		return column.Vec{}, err
	}
	desc := len(args) > 1 && expr.IsText(n.Args[1], "DESC")
	nullsLast := len(args) > 2 && expr.IsText(n.Args[2], "NULLS LAST")
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

// remover returns an evaluation that removes the first most elements equal to a value; -1 means all.
func remover(most int) func(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return func(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
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

// bindStringToArray accepts a delimiter and a text that becomes NULL.
func bindStringToArray(n *expr.Node) (*expr.Node, error) {
	return expr.Signature(expr.Gives(arrow.ListOf(column.TypeString)), expr.AsText)(n)
}

// evalStringToArray splits a string at delimiters. The empty string gives an empty list. A NULL delimiter
// splits it into characters, and an empty delimiter does not split.
func evalStringToArray(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	out, live := expr.StrictRows(n, args, args[:1], rows)
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

// pieceBytes is the memory of a piece before it is in a list: the piece, its offset and its validity, twice
// because slices grow.
const pieceBytes = 2*column.ViewBytes + 2*8 + 2

// pieces returns an upper bound of the number of pieces.
func pieces(s, sep []byte, chars bool) int {
	switch {
	case chars:
		return utf8.RuneCount(s)
	case len(sep) == 0:
		return 1
	}
	return bytes.Count(s, sep) + 1
}

// splitText splits s at sep, or into characters if chars is true.
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
