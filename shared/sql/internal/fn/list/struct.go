package list

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/meter"
)

// structFunctions make structs.
var structFunctions = map[string]*expr.Function{
	"struct":       {MinArgs: 1, MaxArgs: 200, Bind: bindStruct, Eval: evalStruct},
	"named_struct": {MinArgs: 2, MaxArgs: 400, Bind: bindNamedStruct, Eval: evalStruct},
	"arrays_zip":   {MinArgs: 1, MaxArgs: 100, Bind: bindArraysZip, Eval: evalArraysZip},
}

// bindStruct names the members c0, c1 and so on.
func bindStruct(n *expr.Node) (*expr.Node, error) {
	names := make([]string, len(n.Args))
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i)
	}
	return structOf(n, names)
}

// bindNamedStruct requires constants as names, each before its value.
func bindNamedStruct(n *expr.Node) (*expr.Node, error) {
	if len(n.Args)%2 != 0 {
		return nil, sql.Errorf(sql.ErrType, n.Pos, "named_struct does not take %d arguments", len(n.Args))
	}
	var names []string
	var values []*expr.Node
	for i := 0; i < len(n.Args); i += 2 {
		name := n.Args[i]
		if name.Op != expr.OpLit || !column.IsString(name.Type) || name.IsNullLiteral() {
			return nil, sql.Errorf(sql.ErrType, name.Pos, "the name of a member must be a constant string")
		}
		names = append(names, string(name.Value.Data.(column.Text).At(0)))
		values = append(values, n.Args[i+1])
	}
	return structOf(n.With(values...), names)
}

// structOf sets the type of a struct with the given member names, which must be distinct.
func structOf(n *expr.Node, names []string) (*expr.Node, error) {
	fields := make([]arrow.Field, len(names))
	seen := map[string]bool{}
	for i, name := range names {
		if seen[name] {
			return nil, sql.Errorf(sql.ErrType, n.Pos, "two members of the name %q", name)
		}
		seen[name] = true
		fields[i] = arrow.Field{Name: name, Type: n.Args[i].Type, Nullable: true}
	}
	n = n.With(n.Args...)
	n.Type = arrow.StructOf(fields...)
	return n, nil
}

// evalStruct never returns NULL.
func evalStruct(m *meter.Meter, n *expr.Node, args []column.Vec, _ column.Bitset) (column.Vec, error) {
	size, konst := column.Width(args...)
	return column.StructOf(m, n.Type, args, size, konst)
}

// bindArraysZip makes lists of structs whose members are named 1, 2 and so on.
func bindArraysZip(n *expr.Node) (*expr.Node, error) {
	fields := make([]arrow.Field, len(n.Args))
	types := make([]arrow.DataType, len(n.Args))
	for i, a := range n.Args {
		if types[i] = anyList(a.Type); types[i] == nil {
			return nil, expr.Mismatch(n)
		}
		fields[i] = arrow.Field{Name: fmt.Sprint(i + 1), Type: column.ElemType(types[i]), Nullable: true}
	}
	return expr.CastArgs(n, arrow.ListOf(arrow.StructOf(fields...)), types...)
}

// evalArraysZip fills up short lists with NULLs. The result is NULL where all lists are.
func evalArraysZip(m *meter.Meter, n *expr.Node, args []column.Vec, _ column.Bitset) (column.Vec, error) {
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
	elem := column.ElemType(n.Type).(*arrow.StructType)
	members := make([]column.Vec, len(args))
	for j, b := range builders {
		var err error
		if members[j], err = b.Elements(elem.Field(j).Type); err != nil {
			return column.Vec{}, err
		}
	}
	elems, err := column.StructOf(m, elem, members, int(off[size]), false)
	return column.Vec{Type: n.Type, N: size, Const: konst, Valid: valid, Data: column.Lists{Off: off, Elems: elems}}, err
}
