package list

import (
	"bytes"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/meter"
)

// mapFunctions are the functions that read and make maps.
var mapFunctions = map[string]*expr.Function{
	"map_keys":    {MinArgs: 1, MaxArgs: 1, Bind: bindMapMembers(0)},
	"map_values":  {MinArgs: 1, MaxArgs: 1, Bind: bindMapMembers(1)},
	"map_entries": {MinArgs: 1, MaxArgs: 1, Bind: bindMapEntries, Eval: evalMapEntries},
	"map_extract": {MinArgs: 2, MaxArgs: 2, Bind: bindMapExtract, Eval: evalMapExtract},
	"map":         {MinArgs: 2, MaxArgs: 2, Bind: bindMap, Eval: evalMap},
	"make_map":    {MinArgs: 2, MaxArgs: 200, Bind: bindMakeMap},
}

// bindMapMembers makes a list of the keys, 0, or of the values, 1.
func bindMapMembers(i int) func(n *expr.Node) (*expr.Node, error) {
	return func(n *expr.Node) (*expr.Node, error) {
		if !column.IsMap(n.Args[0].Type) {
			return nil, expr.Mismatch(n)
		}
		return MapMembers(n.Args[0], i), nil
	}
}

// MapMembers returns the node of the list of the keys, 0, or of the values, 1, of a map.
func MapMembers(m *expr.Node, i int) *expr.Node {
	name := [...]string{"map_keys", "map_values"}[i]
	f := &expr.Function{Name: name, MinArgs: 1, MaxArgs: 1, Bind: bindMapMembers(i), Eval: mapMembers(i)}
	return &expr.Node{Op: expr.OpCall, Type: arrow.ListOf(mapMember(m.Type, i)), Func: f, Args: []*expr.Node{m}, Pos: m.Pos}
}

// mapMember returns the type of the keys, 0, or of the values, 1, of a map type.
func mapMember(t arrow.DataType, i int) arrow.DataType {
	return column.ValueType(column.ElemType(t).(*arrow.StructType).Field(i).Type)
}

// mapMembers returns the keys (0) or the values (1) of maps as lists, without a copy of the offsets.
func mapMembers(i int) func(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return func(m *meter.Meter, n *expr.Node, args []column.Vec, _ column.Bitset) (column.Vec, error) {
		l := args[0].Data.(column.Lists)
		members, err := l.Member(m, i)
		out := args[0]
		out.Type, out.Data = n.Type, column.Lists{Off: l.Off, Elems: members}
		return out, err
	}
}

// bindMapEntries makes a list of structs of a key and a value.
func bindMapEntries(n *expr.Node) (*expr.Node, error) {
	if !column.IsMap(n.Args[0].Type) {
		return nil, expr.Mismatch(n)
	}
	n.Type = arrow.ListOfField(arrow.Field{Name: "item", Type: column.ElemType(n.Args[0].Type)})
	return n, nil
}

func evalMapEntries(_ *meter.Meter, n *expr.Node, args []column.Vec, _ column.Bitset) (column.Vec, error) {
	out := args[0]
	out.Type = n.Type
	return out, nil
}

// bindMapExtract casts the second argument to the key type. The result is a list with one value, which is
// NULL if the map has no such key.
func bindMapExtract(n *expr.Node) (*expr.Node, error) {
	t := n.Args[0].Type
	if !column.IsMap(t) {
		return nil, expr.Mismatch(n)
	}
	return expr.CastArgs(n, arrow.ListOf(mapMember(t, 1)), t, mapMember(t, 0))
}

// evalMapExtract returns the values of the keys, each in a list of its own.
func evalMapExtract(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	values, err := findInMaps(m, args, rows)
	if err != nil {
		return column.Vec{}, err
	}
	values.Type = column.ElemType(n.Type)
	size, konst := column.Width(args...)
	off := make([]int64, size+1)
	for i := range off {
		off[i] = int64(i)
	}
	return column.Vec{Type: n.Type, N: size, Const: konst, Data: column.Lists{Off: off, Elems: values}}, nil
}

// findInMaps returns, for each row, the value of the key args[1] in the map args[0]. It is NULL if either
// argument is NULL or the key is missing.
func findInMaps(m *meter.Meter, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	l, span := args[0].ListsOf()
	size, konst := column.Width(args...)
	if konst {
		rows = nil
	}
	live := args[1].Live(args[0].Live(rows, size), size)
	keys, err := l.Member(m, 0)
	if err != nil {
		return column.Vec{}, err
	}
	values, err := l.Member(m, 1)
	if err != nil {
		return column.Vec{}, err
	}
	if err := m.Take(8 * size); err != nil {
		return column.Vec{}, err
	}
	slots, valid := make([]int, size), column.NewBitset(size)
	each := column.RowWork(args)
	var want, have []byte
	for i := range slots {
		slots[i] = -1
		if live != nil && !live.Has(i) {
			continue
		}
		if err := m.Step(each); err != nil {
			return column.Vec{}, err
		}
		want = args[1].AppendKey(want[:0], args[1].Slot(i))
		for j, end := span(i); j < end; j++ {
			if have = keys.AppendKey(have[:0], j); bytes.Equal(want, have) {
				if !values.IsNull(j) {
					slots[i] = j
					valid.Set(i)
				}
				break
			}
		}
	}
	return values.Gather(m, slots, valid)
}

// MapElement returns the node m[key], the value of a key of a map, or NULL.
func MapElement(m, key *expr.Node, pos int) (*expr.Node, error) {
	f := &expr.Function{Name: "array_element", MinArgs: 2, MaxArgs: 2, Bind: bindMapElement, Eval: evalMapElement}
	return bindMapElement(&expr.Node{Op: expr.OpCall, Func: f, Args: []*expr.Node{m, key}, Pos: pos})
}

func bindMapElement(n *expr.Node) (*expr.Node, error) {
	t := n.Args[0].Type
	return expr.CastArgs(n, mapMember(t, 1), t, mapMember(t, 0))
}

func evalMapElement(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	out, err := findInMaps(m, args, rows)
	_, out.Const = column.Width(args...)
	out.Type = n.Type
	return out, err
}

// bindMap makes maps from a list of keys and a list of values of the same length.
func bindMap(n *expr.Node) (*expr.Node, error) {
	keys, values := n.Args[0].Type, n.Args[1].Type
	if !column.IsList(keys) || !column.IsList(values) {
		return nil, expr.Mismatch(n)
	}
	if column.IsNested(column.ElemType(keys)) {
		return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "maps with keys of %s", column.ElemType(keys))
	}
	n.Type = arrow.MapOf(column.ElemType(keys), column.ElemType(values))
	return n, nil
}

// bindMakeMap turns make_map(k, v, …) into map([k, …], [v, …]).
func bindMakeMap(n *expr.Node) (*expr.Node, error) {
	if len(n.Args)%2 != 0 {
		return nil, sql.Errorf(sql.ErrType, n.Pos, "make_map does not take %d arguments", len(n.Args))
	}
	var lists [2]*expr.Node
	for side := range lists {
		list := &expr.Node{Op: expr.OpCall, Func: &expr.Function{Name: "make_array", Eval: EvalMakeArray}, Pos: n.Pos}
		for i := side; i < len(n.Args); i += 2 {
			list.Args = append(list.Args, n.Args[i])
		}
		var err error
		if lists[side], err = BindMakeArray(list); err != nil {
			return nil, err
		}
	}
	made := n.With(lists[0], lists[1])
	made.Func = &expr.Function{Name: n.Func.Name, Eval: evalMap}
	return bindMap(made)
}

// evalMap is NULL where the list of keys is. The keys of a map must differ.
func evalMap(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	out, live := expr.StrictRows(n, args, args[:1], rows)
	sources := [2]column.Lists{}
	var builders [2]*column.ListBuilder
	for i := range sources {
		sources[i] = args[i].Data.(column.Lists)
		builders[i] = column.NewListBuilder(m, out.N, sources[i].Elems)
	}
	_, keySpan := args[0].ListsOf()
	_, valueSpan := args[1].ListsOf()
	seen := map[string]bool{}
	for i := range out.N {
		if live == nil || live.Has(i) {
			from, to := keySpan(i)
			other, end := valueSpan(i)
			if args[1].IsNull(i) || end-other != to-from {
				return column.Vec{}, sql.Errorf(sql.ErrValue, sql.NoPos, "a map of lists of different lengths")
			}
			clear(seen)
			for j := from; j < to; j++ {
				key := string(sources[0].Elems.ElementKey(nil, j))
				if seen[key] {
					return column.Vec{}, sql.Errorf(sql.ErrValue, sql.NoPos, "a map with one key twice")
				}
				seen[key] = true
				builders[0].Add(0, j)
				builders[1].Add(0, other+j-from)
			}
		}
		for _, b := range builders {
			if err := b.End(); err != nil {
				return column.Vec{}, err
			}
		}
	}
	keys, err := builders[0].Lists(column.ElemType(args[0].Type))
	if err != nil {
		return column.Vec{}, err
	}
	values, err := builders[1].Elements(column.ElemType(args[1].Type))
	if err != nil {
		return column.Vec{}, err
	}
	out.Data, err = column.Entries(m, n.Type, keys.Off, keys.Elems, values)
	return out, err
}
