package sqlexpr

import (
	"bytes"
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/meter"
)

// listTables are the functions of lists and structs.
var listTables = []map[string]*function{
	listFunctions, listMakeFunctions, listEditFunctions, listMathFunctions, seriesFunctions, structFunctions,
}

// listFunctions are those that look into lists.
var listFunctions = map[string]*function{
	"array_has":     {minArgs: 2, maxArgs: 2, bind: bindArrayHas, eval: evalArrayHas},
	"array_has_any": {minArgs: 2, maxArgs: 2, bind: bindArrayHasMany, eval: evalArrayHasAny},
	"array_has_all": {minArgs: 2, maxArgs: 2, bind: bindArrayHasMany, eval: evalArrayHasAll},

	"array_length":   {minArgs: 1, maxArgs: 1, bind: bindLengths(typeUint64), eval: evalArrayLength},
	"cardinality":    {minArgs: 1, maxArgs: 1, bind: bindLists(gives(typeUint64)), eval: evalArrayLength},
	"empty":          {minArgs: 1, maxArgs: 1, bind: bindLengths(typeBool), eval: evalEmpty},
	"array_position": {minArgs: 2, maxArgs: 2, bind: bindListAndValue(gives(typeUint64)), eval: evalArrayPosition},

	"array_element":   {minArgs: 2, maxArgs: 2, bind: bindArrayElement, eval: evalArrayElement},
	"array_any_value": {minArgs: 1, maxArgs: 1, bind: bindLists(elementOfFirst), eval: evalAnyValue},
	"array_max":       {minArgs: 1, maxArgs: 1, bind: bindLists(elementOfFirst), eval: extremeElement(opGt)},
	"array_min":       {minArgs: 1, maxArgs: 1, bind: bindLists(elementOfFirst), eval: extremeElement(opLt)},
	"array_to_string": {minArgs: 2, maxArgs: 3, bind: bindArrayToString, eval: evalArrayToString},
}

// elementOfFirst is the type of the elements of the first argument.
func elementOfFirst(types []arrow.DataType) arrow.DataType { return valueType(elemType(types[0])) }

// anyList takes lists, those of fixed size as others.
func anyList(t arrow.DataType) arrow.DataType {
	if !isList(t) || isNested(elemType(t)) {
		return nil
	}
	return listLike(t, valueType(elemType(t)))
}

// bindLists binds a function of nothing but lists of simple values.
func bindLists(result func([]arrow.DataType) arrow.DataType) func(n *node) (*node, error) {
	return func(n *node) (*node, error) {
		for _, a := range n.args {
			if isList(a.typ) && isNested(elemType(a.typ)) {
				return nil, sql.Errorf(sql.ErrUnsupported, n.pos, "%s of %s", n.fn.name, a.typ)
			}
		}
		return signature(result, anyList)(n)
	}
}

// bindLengths binds a function of how long a list is, whatever it holds.
func bindLengths(result arrow.DataType) func(n *node) (*node, error) {
	return func(n *node) (*node, error) {
		if !isList(n.args[0].typ) {
			return nil, mismatch(n)
		}
		return castArgs(n, result, n.args[0].typ)
	}
}

// bindListAndValue finds one type for the elements of a list and a value.
func bindListAndValue(result func([]arrow.DataType) arrow.DataType) func(n *node) (*node, error) {
	return func(n *node) (*node, error) {
		list, x := n.args[0].typ, n.args[1].typ
		if !isList(list) {
			return nil, mismatch(n)
		}
		elem, err := elementType(n, elemType(list), x)
		if err != nil {
			return nil, err
		}
		types := []arrow.DataType{listLike(list, elem), elem}
		return castArgs(n, result(types), types...)
	}
}

func evalArrayLength(m *meter.Meter, n *node, args []vec, rows bitset) (vec, error) {
	_, span := args[0].listsOf()
	return fixedRows(m, n, args, rows, func(i int) (uint64, error) {
		from, to := span(i)
		return uint64(to - from), nil
	})
}

func evalEmpty(m *meter.Meter, n *node, args []vec, rows bitset) (vec, error) {
	_, span := args[0].listsOf()
	return boolRows(m, n, args, rows, func(i int) bool {
		from, to := span(i)
		return from == to
	})
}

// evalArrayPosition counts from 1, and is NULL if the value is not there. NULL equals NULL.
func evalArrayPosition(m *meter.Meter, n *node, args []vec, rows bitset) (vec, error) {
	l, span := args[0].listsOf()
	x := args[1]
	out, live := strictRows(n, args, args[:1], rows)
	found, positions := newBitset(out.n), make([]uint64, out.n)
	each := 8 * rowWork(args)
	var want, have []byte
	var err error
	live.each(out.n, func(i int) bool {
		if err = m.Step(each); err != nil {
			return false
		}
		want = x.elementKey(want[:0], x.at(i))
		from, to := span(i)
		for j := from; j < to; j++ {
			if have = l.elems.elementKey(have[:0], j); bytes.Equal(want, have) {
				found.set(i)
				positions[i] = uint64(j - from + 1)
				break
			}
		}
		return true
	})
	out.valid, out.data = found, positions
	return out, err
}

// bindArrayElement takes any integer as an index.
func bindArrayElement(n *node) (*node, error) {
	list := n.args[0].typ
	if isList(list) && isNested(elemType(list)) {
		return nil, sql.Errorf(sql.ErrUnsupported, n.pos, "elements of %s", list)
	}
	return signature(elementOfFirst, anyList, wholeNumber)(n)
}

// pickElements takes one element of each list; choose returns its slot, or -1 for NULL.
func pickElements(m *meter.Meter, n *node, args []vec, rows bitset, choose func(i int) int) (vec, error) {
	out, live := callRows(n, args, rows)
	if err := m.Take(8 * out.n); err != nil {
		return vec{}, err
	}
	slots, valid := make([]int, out.n), newBitset(out.n)
	l, each := args[0].data.(lists), rowWork(args)
	for i := range slots {
		slots[i] = -1
		if live != nil && !live.has(i) {
			continue
		}
		if err := m.Step(each); err != nil {
			return vec{}, err
		}
		if s := choose(i); s >= 0 && !l.elems.isNull(s) {
			slots[i] = s
			valid.set(i)
		}
	}
	picked, err := l.elems.gather(m, slots, valid)
	if err != nil {
		return vec{}, err
	}
	out.valid, out.data = valid, picked.data
	return out, nil
}

// evalArrayElement counts from 1, or from the end with negative numbers, and is NULL where
// there is no element.
func evalArrayElement(m *meter.Meter, n *node, args []vec, rows bitset) (vec, error) {
	_, span := args[0].listsOf()
	index := valuesOf[int64](args[1])
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

// evalAnyValue is the first element that is not NULL.
func evalAnyValue(m *meter.Meter, n *node, args []vec, rows bitset) (vec, error) {
	l, span := args[0].listsOf()
	return pickElements(m, n, args, rows, func(i int) int {
		from, to := span(i)
		for j := from; j < to; j++ {
			if !l.elems.isNull(j) {
				return j
			}
		}
		return -1
	})
}

// extremeElement is the greatest or the least element that is not NULL, by the total order.
func extremeElement(op opcode) func(m *meter.Meter, n *node, args []vec, rows bitset) (vec, error) {
	return func(m *meter.Meter, n *node, args []vec, rows bitset) (vec, error) {
		l, span := args[0].listsOf()
		before, err := l.elems.ordering(m)
		if err != nil {
			return vec{}, err
		}
		return pickElements(m, n, args, rows, func(i int) int {
			best := -1
			from, to := span(i)
			for j := from; j < to; j++ {
				if l.elems.isNull(j) {
					continue
				}
				if best < 0 || op == opLt && before[j] < before[best] || op == opGt && before[j] > before[best] {
					best = j
				}
			}
			return best
		})
	}
}

// bindArrayToString takes a separator and what stands for NULL.
func bindArrayToString(n *node) (*node, error) {
	list := n.args[0].typ
	if !isList(list) {
		return nil, mismatch(n)
	}
	elem := valueType(elemType(list))
	if isNested(elem) || isFloat(elem) || castText(elem) == nil {
		return nil, sql.Errorf(sql.ErrUnsupported, n.pos, "array_to_string of %s", list)
	}
	types := []arrow.DataType{listLike(list, typeString), typeString, typeString}
	for _, a := range n.args[1:] {
		if asText(a.typ) == nil {
			return nil, mismatch(n)
		}
	}
	return castArgs(n, typeString, types[:len(n.args)]...)
}

// evalArrayToString leaves out NULLs unless it is told what to write for them.
func evalArrayToString(m *meter.Meter, n *node, args []vec, rows bitset) (vec, error) {
	l, span := args[0].listsOf()
	elems, sep := l.elems.texts(), args[1].texts()
	return buildTexts(m, n, args, args[:2], rows, func(b *textBuilder, i int) error {
		var null []byte // nil: is left out
		if len(args) == 3 && !args[2].isNull(i) {
			null = append([]byte{}, args[2].texts()(i)...)
		}
		first := true
		from, to := span(i)
		for j := from; j < to; j++ {
			piece := null
			switch {
			case !l.elems.isNull(j):
				piece = elems(j)
			case null == nil:
				continue
			}
			if err := b.reserve(len(sep(i)) + len(piece)); err != nil {
				return err
			}
			if !first {
				b.data = append(b.data, sep(i)...)
			}
			first = false
			b.data = append(b.data, piece...)
			if err := m.Step(16 + len(piece) + len(sep(i))); err != nil {
				return err
			}
		}
		return nil
	})
}
