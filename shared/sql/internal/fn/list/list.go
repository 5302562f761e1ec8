// Package list holds the functions of lists, maps and structs: tests and lookups (list.go,
// has.go), functions that make lists (make.go, edit.go, series.go), vector mathematics
// (math.go), structs and maps.
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

// Tables are the functions of lists, maps and structs.
var Tables = []map[string]*expr.Function{
	listFunctions, listMakeFunctions, listEditFunctions, listMathFunctions, seriesFunctions, structFunctions, mapFunctions,
}

// listFunctions are the functions that read lists.
var listFunctions = map[string]*expr.Function{
	"array_has":     {MinArgs: 2, MaxArgs: 2, Bind: bindArrayHas, Eval: evalArrayHas},
	"array_has_any": {MinArgs: 2, MaxArgs: 2, Bind: bindArrayHasMany, Eval: evalArrayHasAny},
	"array_has_all": {MinArgs: 2, MaxArgs: 2, Bind: bindArrayHasMany, Eval: evalArrayHasAll},

	"array_length":   {MinArgs: 1, MaxArgs: 1, Bind: bindLengths(column.TypeUint64), Eval: evalArrayLength},
	"cardinality":    {MinArgs: 1, MaxArgs: 1, Bind: bindCardinality, Eval: evalArrayLength},
	"empty":          {MinArgs: 1, MaxArgs: 1, Bind: bindLengths(column.TypeBool), Eval: evalEmpty},
	"array_position": {MinArgs: 2, MaxArgs: 2, Bind: bindListAndValue(expr.Gives(column.TypeUint64)), Eval: evalArrayPosition},

	"array_element":   {MinArgs: 2, MaxArgs: 2, Bind: bindArrayElement, Eval: evalArrayElement},
	"array_any_value": {MinArgs: 1, MaxArgs: 1, Bind: bindLists(elementOfFirst), Eval: evalAnyValue},
	"array_max":       {MinArgs: 1, MaxArgs: 1, Bind: bindLists(elementOfFirst), Eval: extremeElement(expr.OpGt)},
	"array_min":       {MinArgs: 1, MaxArgs: 1, Bind: bindLists(elementOfFirst), Eval: extremeElement(expr.OpLt)},
	"array_to_string": {MinArgs: 2, MaxArgs: 3, Bind: bindArrayToString, Eval: evalArrayToString},
}

// elementOfFirst is the type of the elements of the first argument.
func elementOfFirst(types []arrow.DataType) arrow.DataType {
	return column.ValueType(column.ElemType(types[0]))
}

// anyList accepts lists of simple values, and casts fixed-size lists to variable-size lists.
func anyList(t arrow.DataType) arrow.DataType {
	if !column.IsList(t) || column.IsNested(column.ElemType(t)) {
		return nil
	}
	return column.ListLike(t, column.ValueType(column.ElemType(t)))
}

// itself accepts any type without a cast.
func itself(t arrow.DataType) arrow.DataType { return t }

// bindLists binds a function whose arguments are all lists of simple values.
func bindLists(result func([]arrow.DataType) arrow.DataType) func(n *expr.Node) (*expr.Node, error) {
	return func(n *expr.Node) (*expr.Node, error) {
		for _, a := range n.Args {
			if column.IsList(a.Type) && column.IsNested(column.ElemType(a.Type)) {
				return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "%s of %s", n.Func.Name, a.Type)
			}
		}
		return expr.Signature(result, anyList)(n)
	}
}

// bindCardinality accepts maps, too: it counts their entries.
func bindCardinality(n *expr.Node) (*expr.Node, error) {
	if column.IsMap(n.Args[0].Type) {
		n.Type = column.TypeUint64
		return n, nil
	}
	return bindLists(expr.Gives(column.TypeUint64))(n)
}

// bindLengths binds a function that returns a length of a list of any element type.
func bindLengths(result arrow.DataType) func(n *expr.Node) (*expr.Node, error) {
	return func(n *expr.Node) (*expr.Node, error) {
		if !column.IsList(n.Args[0].Type) {
			return nil, expr.Mismatch(n)
		}
		return expr.CastArgs(n, result, n.Args[0].Type)
	}
}

// bindListAndValue casts a value and the elements of a list to one type.
func bindListAndValue(result func([]arrow.DataType) arrow.DataType) func(n *expr.Node) (*expr.Node, error) {
	return func(n *expr.Node) (*expr.Node, error) {
		list, x := n.Args[0].Type, n.Args[1].Type
		if !column.IsList(list) {
			return nil, expr.Mismatch(n)
		}
		elem, err := elementType(n, column.ElemType(list), x)
		if err != nil {
			return nil, err
		}
		types := []arrow.DataType{column.ListLike(list, elem), elem}
		return expr.CastArgs(n, result(types), types...)
	}
}

func evalArrayLength(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	_, span := args[0].ListsOf()
	return expr.FixedRows(m, n, args, rows, func(i int) (uint64, error) {
		from, to := span(i)
		return uint64(to - from), nil
	})
}

func evalEmpty(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	_, span := args[0].ListsOf()
	return expr.BoolRows(m, n, args, rows, func(i int) bool {
		from, to := span(i)
		return from == to
	})
}

// evalArrayPosition counts from 1, and is NULL if the value is not there. NULL equals NULL.
func evalArrayPosition(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	l, span := args[0].ListsOf()
	x := args[1]
	out, live := expr.StrictRows(n, args, args[:1], rows)
	found, positions := column.NewBitset(out.N), make([]uint64, out.N)
	each := 8 * column.RowWork(args)
	var want, have []byte
	var err error
	live.Each(out.N, func(i int) bool {
		if err = m.Step(each); err != nil {
			return false
		}
		want = x.ElementKey(want[:0], x.Slot(i))
		from, to := span(i)
		for j := from; j < to; j++ {
			if have = l.Elems.ElementKey(have[:0], j); bytes.Equal(want, have) {
				found.Set(i)
				positions[i] = uint64(j - from + 1)
				break
			}
		}
		return true
	})
	out.Valid, out.Data = found, positions
	return out, err
}

// bindArrayElement accepts any integer as an index of a list, and a key of a map.
func bindArrayElement(n *expr.Node) (*expr.Node, error) {
	list := n.Args[0].Type
	if column.IsMap(list) {
		return MapElement(n.Args[0], n.Args[1], n.Pos)
	}
	if column.IsList(list) && column.IsNested(column.ElemType(list)) {
		return expr.Signature(elementOfFirst, itself, expr.WholeNumber)(n)
	}
	return expr.Signature(elementOfFirst, anyList, expr.WholeNumber)(n)
}

// pickElements returns one element of each list. choose returns its slot, or -1 for NULL.
func pickElements(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset, choose func(i int) int) (column.Vec, error) {
	out, live := expr.CallRows(n, args, rows)
	if err := m.Take(8 * out.N); err != nil {
		return column.Vec{}, err
	}
	slots, valid := make([]int, out.N), column.NewBitset(out.N)
	l, each := args[0].Data.(column.Lists), column.RowWork(args)
	for i := range slots {
		slots[i] = -1
		if live != nil && !live.Has(i) {
			continue
		}
		if err := m.Step(each); err != nil {
			return column.Vec{}, err
		}
		if s := choose(i); s >= 0 && !l.Elems.IsNull(s) {
			slots[i] = s
			valid.Set(i)
		}
	}
	picked, err := l.Elems.Gather(m, slots, valid)
	if err != nil {
		return column.Vec{}, err
	}
	out.Valid, out.Data = valid, picked.Data
	return out, nil
}

// evalArrayElement returns the element at a 1-based index, which counts from the end if negative, or NULL
// if it does not exist.
func evalArrayElement(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	_, span := args[0].ListsOf()
	index := column.ValuesOf[int64](args[1])
	return pickElements(m, n, args, rows, func(i int) int {
		from, to := span(i)
		switch at, size := index(i), int64(to-from); {
		case at > 0 && at <= size:
			return from + int(at) - 1
		case at < 0 && at >= -size && at != math.MinInt64:
			return to + int(at)
		}
		return -1
	})
}

// evalAnyValue returns the first element that is not NULL.
func evalAnyValue(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	l, span := args[0].ListsOf()
	return pickElements(m, n, args, rows, func(i int) int {
		from, to := span(i)
		for j := from; j < to; j++ {
			if !l.Elems.IsNull(j) {
				return j
			}
		}
		return -1
	})
}

// extremeElement returns the greatest or the least element that is not NULL, by the total
// order.
func extremeElement(op expr.Op) func(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return func(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
		l, span := args[0].ListsOf()
		before, err := l.Elems.Ranks(m)
		if err != nil {
			return column.Vec{}, err
		}
		return pickElements(m, n, args, rows, func(i int) int {
			best := -1
			from, to := span(i)
			for j := from; j < to; j++ {
				if l.Elems.IsNull(j) {
					continue
				}
				if best < 0 || op == expr.OpLt && before[j] < before[best] || op == expr.OpGt && before[j] > before[best] {
					best = j
				}
			}
			return best
		})
	}
}

// bindArrayToString accepts a separator and a text for NULL.
func bindArrayToString(n *expr.Node) (*expr.Node, error) {
	list := n.Args[0].Type
	if !column.IsList(list) {
		return nil, expr.Mismatch(n)
	}
	elem := column.ValueType(column.ElemType(list))
	if column.IsNested(elem) || column.IsFloat(elem) || expr.CastText(elem) == nil {
		return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "array_to_string of %s", list)
	}
	types := []arrow.DataType{column.ListLike(list, column.TypeString), column.TypeString, column.TypeString}
	for _, a := range n.Args[1:] {
		if expr.AsText(a.Type) == nil {
			return nil, expr.Mismatch(n)
		}
	}
	return expr.CastArgs(n, column.TypeString, types[:len(n.Args)]...)
}

// evalArrayToString joins the elements. NULLs are skipped unless a replacement is given.
func evalArrayToString(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	l, span := args[0].ListsOf()
	elems, sep := l.Elems.Texts(), args[1].Texts()
	return expr.BuildTexts(m, n, args, args[:2], rows, func(b *column.TextBuilder, i int) error {
		var null []byte // nil: is left out
		if len(args) == 3 && !args[2].IsNull(i) {
			null = append([]byte{}, args[2].Texts()(i)...)
		}
		first := true
		from, to := span(i)
		for j := from; j < to; j++ {
			piece := null
			switch {
			case !l.Elems.IsNull(j):
				piece = elems(j)
			case null == nil:
				continue
			}
			if err := b.Reserve(len(sep(i)) + len(piece)); err != nil {
				return err
			}
			if !first {
				b.Data = append(b.Data, sep(i)...)
			}
			first = false
			b.Data = append(b.Data, piece...)
			if err := m.Step(16 + len(piece) + len(sep(i))); err != nil {
				return err
			}
		}
		return nil
	})
}
