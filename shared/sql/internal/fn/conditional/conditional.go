// Package conditional implements the functions that return one of their arguments, such as coalesce.
package conditional

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/cast"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/compute"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/meter"
)

// Tables are the functions of values of any type.
var Tables = []map[string]*expr.Function{choiceFunctions}

// choiceFunctions choose one of their arguments.
var choiceFunctions = map[string]*expr.Function{
	"coalesce": {MinArgs: 1, MaxArgs: 1000, Bind: bindCoalesce},
	"nullif":   {MinArgs: 2, MaxArgs: 2, Bind: bindNullif},
	"nvl":      {MinArgs: 2, MaxArgs: 2, Bind: bindNvl},
	"nvl2":     {MinArgs: 3, MaxArgs: 3, Bind: bindNvl2},
	"greatest": {MinArgs: 1, MaxArgs: 1000, Bind: bindExtreme, Eval: extreme(expr.OpGt)},
	"least":    {MinArgs: 1, MaxArgs: 1000, Bind: bindExtreme, Eval: extreme(expr.OpLt)},
}

// bindCoalesce turns coalesce(a, …, z) into CASE WHEN a IS NOT NULL THEN a … ELSE z END.
func bindCoalesce(n *expr.Node) (*expr.Node, error) {
	typ, err := expr.CoalesceOf(n, expr.ArgTypes(n))
	if err != nil {
		return nil, err
	}
	return firstNotNull(n, typ)
}

// bindNvl binds nvl like coalesce with two arguments, but with its own rules for the type.
func bindNvl(n *expr.Node) (*expr.Node, error) {
	typ := nvlType(n.Args[0].Type, n.Args[1].Type)
	if typ == nil {
		return nil, expr.Mismatch(n)
	}
	return firstNotNull(n, typ)
}

// nvlType returns the first of bool, integer, float and string to which both types can be cast without loss
// in general. Types other than numbers and bools become strings.
func nvlType(l, r arrow.DataType) arrow.DataType {
	if l.ID() == arrow.NULL && r.ID() == arrow.NULL {
		return column.TypeBool
	}
	if t := expr.NullType(l, r); t != nil {
		l, r = t, t
	}
	switch {
	case l.ID() == arrow.BOOL && r.ID() == arrow.BOOL:
		return l
	case column.IsDecimal(l) && column.IsNumeric(r), column.IsNumeric(l) && column.IsDecimal(r):
		return column.TypeFloat64
	case column.IsNumeric(l) && column.IsNumeric(r):
		if t := expr.PlainNumericType(l, r); !column.IsDecimal(t) {
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
func firstNotNull(n *expr.Node, typ arrow.DataType) (*expr.Node, error) {
	if args := slices.DeleteFunc(slices.Clone(n.Args), func(a *expr.Node) bool { return a.Type.ID() == arrow.NULL }); len(args) > 0 {
		n = n.With(args...)
	}
	if typ.ID() == arrow.STRUCT && len(n.Args) > 1 {
		return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "%s of %s", n.Func.Name, typ)
	}
	c := &expr.Node{Op: expr.OpCase, Type: typ, Pos: n.Pos}
	for i, a := range n.Args {
		x, err := expr.CastTo(a, typ)
		if err != nil {
			return nil, err
		}
		if i == len(n.Args)-1 {
			if i == 0 {
				return x, nil
			}
			c.Args = append(c.Args, x)
			break
		}
		c.Args = append(c.Args, notNull(x), x)
	}
	return c, nil
}

// notNull returns the test x IS NOT NULL.
func notNull(x *expr.Node) *expr.Node {
	return &expr.Node{Op: expr.OpIsNull, Not: true, Type: column.TypeBool, Args: []*expr.Node{x}, Pos: x.Pos}
}

// bindNvl2 rewrites nvl2(a, b, c) as CASE WHEN a IS NOT NULL THEN b ELSE c END, with one type for all
// three.
func bindNvl2(n *expr.Node) (*expr.Node, error) {
	typ := expr.UnionType(n.Args[0].Type, n.Args[1].Type)
	if typ != nil {
		typ = expr.UnionType(typ, n.Args[2].Type)
	}
	if typ == nil {
		return nil, expr.Mismatch(n)
	}
	if typ.ID() == arrow.STRUCT {
		return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "%s of %s", n.Func.Name, typ)
	}
	c := &expr.Node{Op: expr.OpCase, Type: typ, Pos: n.Pos, Args: []*expr.Node{notNull(n.Args[0])}}
	for _, a := range n.Args[1:] {
		x, err := expr.CastTo(a, typ)
		if err != nil {
			return nil, err
		}
		c.Args = append(c.Args, x)
	}
	return c, nil
}

// bindNullif turns nullif(a, b) into CASE WHEN a = b THEN NULL ELSE a END, where -0.0 does
// not equal 0.0.
func bindNullif(n *expr.Node) (*expr.Node, error) {
	typ := expr.ComparisonType(n.Args[0].Type, n.Args[1].Type)
	switch {
	case typ == nil:
		return nil, expr.Mismatch(n)
	case column.IsNested(typ):
		return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "%s of %s", n.Func.Name, typ)
	}
	same, err := expr.CoerceTo(n.Binary(expr.OpEq, column.TypeBool, n.Args[0], n.Args[1]), typ, column.TypeBool)
	if err != nil {
		return nil, err
	}
	same.Exact = true
	return &expr.Node{Op: expr.OpCase, Type: typ, Pos: n.Pos, Args: []*expr.Node{same, expr.Literal(column.Null(typ), n.Pos), same.Args[0]}}, nil
}

// bindExtreme binds greatest and least, and casts the arguments to one type.
func bindExtreme(n *expr.Node) (*expr.Node, error) {
	typ, err := expr.UnionOf(n, expr.ArgTypes(n))
	if err != nil {
		return nil, err
	}
	if column.IsNested(typ) {
		return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "%s of %s", n.Func.Name, typ)
	}
	return expr.CoerceTo(n, typ, nil)
}

// extreme returns the greatest, or least, argument. NULLs are ignored, and NaN is greater
// than any number.
func extreme(op expr.Op) func(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return func(m *meter.Meter, n *expr.Node, args []column.Vec, _ column.Bitset) (column.Vec, error) {
		best := args[0]
		for _, a := range args[1:] {
			size, konst := column.Width(best, a)
			has, hasBest := column.And(column.FullBitset(size), a.Live(nil, size)), column.And(column.FullBitset(size), best.Live(nil, size))
			take := column.And(has, column.Or(hasBest.Invert(size), compute.CompareBits(op, a, best, size)))
			b := column.NewBranches(m, size, n.Type)
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
