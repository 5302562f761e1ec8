package sqlexpr

import (
	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/cast"
	"tiltyard/shared/sql/column"
	"tiltyard/shared/sql/meter"
)

// choiceTables are the functions of values of any type.
var choiceTables = []map[string]*function{choiceFunctions}

// choiceFunctions choose one of their arguments.
var choiceFunctions = map[string]*function{
	"coalesce": {minArgs: 1, maxArgs: 1000, bind: bindCoalesce},
	"nullif":   {minArgs: 2, maxArgs: 2, bind: bindNullif},
	"nvl":      {minArgs: 2, maxArgs: 2, bind: bindNvl},
	"nvl2":     {minArgs: 3, maxArgs: 3, bind: bindNvl2},
	"greatest": {minArgs: 1, maxArgs: 1000, bind: bindExtreme, eval: extreme(opGt)},
	"least":    {minArgs: 1, maxArgs: 1000, bind: bindExtreme, eval: extreme(opLt)},
}

// bindCoalesce makes CASE WHEN a IS NOT NULL THEN a … ELSE z END of coalesce(a, …, z).
func bindCoalesce(n *node) (*node, error) {
	typ, err := unionOf(n, argTypes(n))
	if err != nil {
		return nil, err
	}
	return firstNotNull(n, typ)
}

// bindNvl is coalesce of two with types of its own.
func bindNvl(n *node) (*node, error) {
	typ := nvlType(n.args[0].typ, n.args[1].typ)
	if typ == nil {
		return nil, mismatch(n)
	}
	return firstNotNull(n, typ)
}

// nvlType is the first of the bools, integers, floats and strings to which both types can be
// cast without a loss, as a rule: everything that is no number becomes a string.
func nvlType(l, r arrow.DataType) arrow.DataType {
	if l.ID() == arrow.NULL && r.ID() == arrow.NULL {
		return column.TypeBool
	}
	if t := nullType(l, r); t != nil {
		l, r = t, t
	}
	switch {
	case l.ID() == arrow.BOOL && r.ID() == arrow.BOOL:
		return l
	case column.IsDecimal(l) && column.IsNumeric(r), column.IsNumeric(l) && column.IsDecimal(r):
		return column.TypeFloat64
	case column.IsNumeric(l) && column.IsNumeric(r):
		if t := plainNumericType(l, r); !column.IsDecimal(t) {
			return t
		}
		return column.TypeFloat32
	case l.ID() == arrow.LARGE_STRING && r.ID() == arrow.LARGE_STRING:
		return l
	case cast.Possible(l, column.TypeString) && cast.Possible(r, column.TypeString):
		return column.TypeString
	}
	return nil
}

// firstNotNull makes the CASE for the first argument that is not NULL.
func firstNotNull(n *node, typ arrow.DataType) (*node, error) {
	if typ.ID() == arrow.STRUCT {
		return nil, sql.Errorf(sql.ErrUnsupported, n.pos, "%s of %s", n.fn.name, typ)
	}
	c := &node{op: opCase, typ: typ, pos: n.pos}
	for i, a := range n.args {
		x, err := castTo(a, typ)
		if err != nil {
			return nil, err
		}
		if i == len(n.args)-1 {
			if i == 0 {
				return x, nil
			}
			c.args = append(c.args, x)
			break
		}
		c.args = append(c.args, notNull(x), x)
	}
	return c, nil
}

// notNull tests a node.
func notNull(x *node) *node {
	return &node{op: opIsNull, not: true, typ: column.TypeBool, args: []*node{x}, pos: x.pos}
}

// bindNvl2 makes CASE WHEN a IS NOT NULL THEN b ELSE c END, of a type for all three.
func bindNvl2(n *node) (*node, error) {
	typ := unionType(n.args[0].typ, n.args[1].typ)
	if typ != nil {
		typ = unionType(typ, n.args[2].typ)
	}
	if typ == nil {
		return nil, mismatch(n)
	}
	if typ.ID() == arrow.STRUCT {
		return nil, sql.Errorf(sql.ErrUnsupported, n.pos, "%s of %s", n.fn.name, typ)
	}
	c := &node{op: opCase, typ: typ, pos: n.pos, args: []*node{notNull(n.args[0])}}
	for _, a := range n.args[1:] {
		x, err := castTo(a, typ)
		if err != nil {
			return nil, err
		}
		c.args = append(c.args, x)
	}
	return c, nil
}

// bindNullif makes CASE WHEN a = b THEN NULL ELSE a END, where -0.0 does not equal 0.0.
func bindNullif(n *node) (*node, error) {
	typ := comparisonType(n.args[0].typ, n.args[1].typ)
	switch {
	case typ == nil:
		return nil, mismatch(n)
	case column.IsNested(typ):
		return nil, sql.Errorf(sql.ErrUnsupported, n.pos, "%s of %s", n.fn.name, typ)
	}
	same, err := coerceTo(n.binary(opEq, column.TypeBool, n.args[0], n.args[1]), typ, column.TypeBool)
	if err != nil {
		return nil, err
	}
	same.exact = true
	return &node{op: opCase, typ: typ, pos: n.pos, args: []*node{same, literal(column.Null(typ), n.pos), same.args[0]}}, nil
}

// bindExtreme finds one type for the arguments.
func bindExtreme(n *node) (*node, error) {
	typ, err := unionOf(n, argTypes(n))
	if err != nil {
		return nil, err
	}
	if column.IsNested(typ) {
		return nil, sql.Errorf(sql.ErrUnsupported, n.pos, "%s of %s", n.fn.name, typ)
	}
	return coerceTo(n, typ, nil)
}

// extreme chooses the argument that is greater, or less, than all others. NULLs do not count,
// and NaN is greater than any number.
func extreme(op opcode) func(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return func(m *meter.Meter, n *node, args []column.Vec, _ column.Bitset) (column.Vec, error) {
		best := args[0]
		for _, a := range args[1:] {
			size, konst := column.Width(best, a)
			has, hasBest := column.And(column.FullBitset(size), a.Live(nil, size)), column.And(column.FullBitset(size), best.Live(nil, size))
			take := column.And(has, column.Or(hasBest.Invert(size), compareBits(op, a, best, size)))
			b := column.NewBranches(m, size, n.typ)
			b.Add(take, a)
			b.Add(take.Invert(size), best)
			var err error
			if best, err = b.Vec(); err != nil {
				return column.Vec{}, err
			}
			best.Const = konst
		}
		return best, nil
	}
}
