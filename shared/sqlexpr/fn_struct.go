package sqlexpr

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// structFunctions make structs, and say what type things have.
var structFunctions = map[string]*function{
	"struct":       {minArgs: 1, maxArgs: 200, bind: bindStruct, eval: evalStruct},
	"named_struct": {minArgs: 2, maxArgs: 400, bind: bindNamedStruct, eval: evalStruct},
	"arrays_zip":   {minArgs: 1, maxArgs: 100, bind: bindArraysZip, eval: evalArraysZip},
	"arrow_typeof": {minArgs: 1, maxArgs: 1, bind: bindTypeOf},

	"cast_to_type":     {minArgs: 2, maxArgs: 2, bind: bindCastToType},
	"try_cast_to_type": {minArgs: 2, maxArgs: 2, bind: bindCastToType},
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
		return nil, errorf(ErrType, n.pos, "named_struct does not take %d arguments", len(n.args))
	}
	var names []string
	var values []*node
	for i := 0; i < len(n.args); i += 2 {
		name := n.args[i]
		if name.op != opLit || !isString(name.typ) || name.isNullLiteral() {
			return nil, errorf(ErrType, name.pos, "the name of a member must be a constant string")
		}
		names = append(names, string(name.val.data.(text).at(0)))
		values = append(values, n.args[i+1])
	}
	return structOf(n.with(values...), names)
}

func structOf(n *node, names []string) (*node, error) {
	fields := make([]arrow.Field, len(names))
	seen := map[string]bool{}
	for i, name := range names {
		if seen[name] {
			return nil, errorf(ErrType, n.pos, "two members of the name %q", name)
		}
		seen[name] = true
		fields[i] = arrow.Field{Name: name, Type: n.args[i].typ, Nullable: true}
	}
	n = n.with(n.args...)
	n.typ = arrow.StructOf(fields...)
	return n, nil
}

// evalStruct is never NULL.
func evalStruct(m *meter, n *node, args []vec, _ bitset) (vec, error) {
	size, konst := width(args...)
	return structVec(m, n.typ, args, size, konst)
}

// structVec puts members together; those that are constants are repeated.
func structVec(m *meter, typ arrow.DataType, members []vec, size int, konst bool) (vec, error) {
	columns := make([]arrow.Array, len(members))
	for i, member := range members {
		var err error
		if columns[i], err = member.array(m, size); err != nil {
			return vec{}, err
		}
	}
	made, err := array.NewStructArrayWithFields(columns, typ.(*arrow.StructType).Fields())
	if err != nil {
		return vec{}, err
	}
	return vec{typ: typ, n: size, konst: konst, data: made}, nil
}

// gatherStruct gathers the members of structs one by one.
func gatherStruct(m *meter, out vec, from *array.Struct, slots []int) (vec, error) {
	members := make([]vec, from.NumField())
	for i := range members {
		member, err := load(m, from.Field(i))
		if err != nil {
			return vec{}, err
		}
		if err := m.take(8 * len(slots)); err != nil {
			return vec{}, err
		}
		has := newBitset(len(slots))
		picked := make([]int, len(slots))
		for k, s := range slots {
			picked[k] = -1
			if s >= 0 && !member.isNull(s) {
				picked[k] = s
				has.set(k)
			}
		}
		if members[i], err = member.gather(m, picked, has); err != nil {
			return vec{}, err
		}
	}
	made, err := structVec(m, out.typ, members, len(slots), false)
	if err != nil {
		return vec{}, err
	}
	out.data = withValidity(made.data.(*array.Struct), out.valid)
	return out, nil
}

// withValidity marks structs as NULL.
func withValidity(s *array.Struct, valid bitset) *array.Struct {
	if valid == nil {
		return s
	}
	bitmap, nulls := validity(valid, s.Len())
	d := s.Data()
	return array.NewStructData(array.NewData(s.DataType(), s.Len(), []*memory.Buffer{bitmap}, d.Children(), nulls, d.Offset()))
}

// bindArraysZip makes lists of structs of which the members are named 1, 2 and so on.
func bindArraysZip(n *node) (*node, error) {
	fields := make([]arrow.Field, len(n.args))
	types := make([]arrow.DataType, len(n.args))
	for i, a := range n.args {
		if types[i] = anyList(a.typ); types[i] == nil {
			return nil, mismatch(n)
		}
		fields[i] = arrow.Field{Name: fmt.Sprint(i + 1), Type: elemType(types[i]), Nullable: true}
	}
	return castArgs(n, arrow.ListOf(arrow.StructOf(fields...)), types...)
}

// evalArraysZip fills up short lists with NULLs; it is NULL where all lists are.
func evalArraysZip(m *meter, n *node, args []vec, _ bitset) (vec, error) {
	size, konst := width(args...)
	builders := make([]*listBuilder, len(args))
	for j, a := range args {
		builders[j] = newListBuilder(m, size, a.data.(lists).elems)
	}
	off, valid := make([]int64, 1, size+1), newBitset(size)
	for i := range size {
		longest := 0
		for _, a := range args {
			if _, span := a.listsOf(); !a.isNull(i) {
				from, to := span(i)
				longest = max(longest, to-from)
				valid.set(i)
			}
		}
		for j, a := range args {
			_, span := a.listsOf()
			from, to := span(i)
			if a.isNull(i) {
				to = from
			}
			if err := builders[j].refused(); err != nil {
				return vec{}, err
			}
			if err := m.step(16 * longest); err != nil {
				return vec{}, err
			}
			for k := range longest {
				if from+k < to {
					builders[j].add(0, from+k)
				} else {
					builders[j].addNull()
				}
			}
		}
		off = append(off, off[i]+int64(longest))
	}
	elem := elemType(n.typ).(*arrow.StructType)
	members := make([]vec, len(args))
	for j, b := range builders {
		var err error
		if members[j], err = b.elements(elem.Field(j).Type); err != nil {
			return vec{}, err
		}
	}
	elems, err := structVec(m, elem, members, int(off[size]), false)
	return vec{typ: n.typ, n: size, konst: konst, valid: valid, data: lists{off: off, elems: elems}}, err
}

// bindCastToType casts to the type of the second argument, of which the value is no matter.
func bindCastToType(n *node) (*node, error) {
	x, to := n.args[0], n.args[1].typ
	if sameType(x.typ, to) {
		return x, nil
	}
	if !castable(x.typ, to) {
		return nil, errorf(ErrUnsupported, n.pos, "cast of %s to %s", x.typ, to)
	}
	return &node{op: opCast, typ: to, try: n.fn.name == "try_cast_to_type", args: []*node{x}, pos: n.pos}, nil
}

// bindTypeOf makes a constant of the name that Arrow has for the type in Rust.
func bindTypeOf(n *node) (*node, error) {
	name := rustType(n.args[0].typ)
	if name == "" {
		return nil, errorf(ErrUnsupported, n.pos, "arrow_typeof of %s", n.args[0].typ)
	}
	return literal(textConstant(typeString, name), n.pos), nil
}

// rustType is empty for types whose names nobody asked for yet.
func rustType(t arrow.DataType) string {
	for name, known := range arrowTypes {
		if sameType(known, t) {
			return name
		}
	}
	units := [...]string{arrow.Second: "s", arrow.Millisecond: "ms", arrow.Microsecond: "µs", arrow.Nanosecond: "ns"}
	switch t := t.(type) {
	case *arrow.NullType:
		return "Null"
	case *arrow.TimestampType:
		if t.TimeZone != "" {
			return fmt.Sprintf("Timestamp(%s, %q)", units[t.Unit], t.TimeZone)
		}
		return fmt.Sprintf("Timestamp(%s)", units[t.Unit])
	case *arrow.Time32Type:
		return fmt.Sprintf("Time32(%s)", units[t.Unit])
	case *arrow.Time64Type:
		return fmt.Sprintf("Time64(%s)", units[t.Unit])
	case *arrow.DurationType:
		return fmt.Sprintf("Duration(%s)", units[t.Unit])
	case *arrow.Decimal128Type:
		return fmt.Sprintf("Decimal128(%d, %d)", t.Precision, t.Scale)
	case *arrow.Decimal256Type:
		return fmt.Sprintf("Decimal256(%d, %d)", t.Precision, t.Scale)
	case *arrow.FixedSizeBinaryType:
		return fmt.Sprintf("FixedSizeBinary(%d)", t.ByteWidth)
	case *arrow.StructType:
		return rustStruct(t)
	case *arrow.FixedSizeListType:
		return fmt.Sprintf("FixedSizeList(%d x %s)", t.Len(), rustMember(t.ElemField()))
	case *arrow.LargeListType:
		return fmt.Sprintf("LargeList(%s)", rustMember(t.ElemField()))
	case *arrow.ListType:
		return fmt.Sprintf("List(%s)", rustMember(t.ElemField()))
	}
	return ""
}

func rustStruct(t *arrow.StructType) string {
	s := "Struct("
	for i, f := range t.Fields() {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("%q: %s", f.Name, rustMember(f))
	}
	return s + ")"
}

func rustMember(f arrow.Field) string {
	if !f.Nullable {
		return "non-null " + rustType(f.Type)
	}
	return rustType(f.Type)
}
