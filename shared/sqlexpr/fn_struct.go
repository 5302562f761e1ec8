package sqlexpr

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/column"
	"tiltyard/shared/sql/meter"
)

// structFunctions make structs.
var structFunctions = map[string]*function{
	"struct":       {minArgs: 1, maxArgs: 200, bind: bindStruct, eval: evalStruct},
	"named_struct": {minArgs: 2, maxArgs: 400, bind: bindNamedStruct, eval: evalStruct},
	"arrays_zip":   {minArgs: 1, maxArgs: 100, bind: bindArraysZip, eval: evalArraysZip},
}

// bindStruct names the members c0, c1 and so on.
func bindStruct(n *node) (*node, error) {
	names := make([]string, len(n.args))
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i)
	}
	return structOf(n, names)
}

// bindNamedStruct takes the names from constants, each before its value.
func bindNamedStruct(n *node) (*node, error) {
	if len(n.args)%2 != 0 {
		return nil, sql.Errorf(sql.ErrType, n.pos, "named_struct does not take %d arguments", len(n.args))
	}
	var names []string
	var values []*node
	for i := 0; i < len(n.args); i += 2 {
		name := n.args[i]
		if name.op != opLit || !column.IsString(name.typ) || name.isNullLiteral() {
			return nil, sql.Errorf(sql.ErrType, name.pos, "the name of a member must be a constant string")
		}
		names = append(names, string(name.val.Data.(column.Text).At(0)))
		values = append(values, n.args[i+1])
	}
	return structOf(n.with(values...), names)
}

func structOf(n *node, names []string) (*node, error) {
	fields := make([]arrow.Field, len(names))
	seen := map[string]bool{}
	for i, name := range names {
		if seen[name] {
			return nil, sql.Errorf(sql.ErrType, n.pos, "two members of the name %q", name)
		}
		seen[name] = true
		fields[i] = arrow.Field{Name: name, Type: n.args[i].typ, Nullable: true}
	}
	n = n.with(n.args...)
	n.typ = arrow.StructOf(fields...)
	return n, nil
}

// evalStruct is never NULL.
func evalStruct(m *meter.Meter, n *node, args []column.Vec, _ column.Bitset) (column.Vec, error) {
	size, konst := column.Width(args...)
	return column.StructOf(m, n.typ, args, size, konst)
}

// bindArraysZip makes lists of structs of which the members are named 1, 2 and so on.
func bindArraysZip(n *node) (*node, error) {
	fields := make([]arrow.Field, len(n.args))
	types := make([]arrow.DataType, len(n.args))
	for i, a := range n.args {
		if types[i] = anyList(a.typ); types[i] == nil {
			return nil, mismatch(n)
		}
		fields[i] = arrow.Field{Name: fmt.Sprint(i + 1), Type: column.ElemType(types[i]), Nullable: true}
	}
	return castArgs(n, arrow.ListOf(arrow.StructOf(fields...)), types...)
}

// evalArraysZip fills up short lists with NULLs; it is NULL where all lists are.
func evalArraysZip(m *meter.Meter, n *node, args []column.Vec, _ column.Bitset) (column.Vec, error) {
	size, konst := column.Width(args...)
	builders := make([]*column.ListBuilder, len(args))
	for j, a := range args {
		builders[j] = column.NewListBuilder(m, size, a.Data.(column.Lists).Elems)
	}
	off, valid := make([]int64, 1, size+1), column.NewBitset(size)
	for i := range size {
		longest := 0
		for _, a := range args {
			if _, span := a.ListsOf(); !a.IsNull(i) {
				from, to := span(i)
				longest = max(longest, to-from)
				valid.Set(i)
			}
		}
		for j, a := range args {
			_, span := a.ListsOf()
			from, to := span(i)
			if a.IsNull(i) {
				to = from
			}
			if err := builders[j].Refused(); err != nil {
				return column.Vec{}, err
			}
			if err := m.Step(16 * longest); err != nil {
				return column.Vec{}, err
			}
			for k := range longest {
				if from+k < to {
					builders[j].Add(0, from+k)
				} else {
					builders[j].AddNull()
				}
			}
		}
		off = append(off, off[i]+int64(longest))
	}
	elem := column.ElemType(n.typ).(*arrow.StructType)
	members := make([]column.Vec, len(args))
	for j, b := range builders {
		var err error
		if members[j], err = b.Elements(elem.Field(j).Type); err != nil {
			return column.Vec{}, err
		}
	}
	elems, err := column.StructOf(m, elem, members, int(off[size]), false)
	return column.Vec{Type: n.typ, N: size, Const: konst, Valid: valid, Data: column.Lists{Off: off, Elems: elems}}, err
}
