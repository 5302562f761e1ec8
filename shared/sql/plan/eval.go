package plan

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/cast"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/compute"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/fn/text"
	"tiltyard/shared/sql/internal/meter"
)

// A frame is a record batch, or a slice of its rows, under evaluation.
//
// Operations compute whole columns, for a set of rows that AND, OR and CASE narrow for
// their arguments. Cheap operations ignore the set and compute every row, which is faster
// than choosing rows. Operations that can fail, or that are expensive, such as matching
// text, keep to the set.
type frame struct {
	m      *meter.Meter
	n      int                // rows
	arrs   []arrow.Array      // columns by index of the schema; nil where not used
	cols   map[int]column.Vec // loaded columns
	consts constants

	dictionaries map[*expr.Node]*dictionary // by leaf; nil for a leaf without a dictionary
	leaf         *expr.Node                 // the leaf, in a frame over the values of its dictionary; else nil
	given        column.Vec                 // these values
}

// constants are the values of operations on constants only, shared by all slices.
type constants map[*expr.Node]column.Vec

// eval computes a node for the given rows; nil selects all. The result is undefined for other rows, which
// cause no errors.
func (f *frame) eval(n *expr.Node, rows column.Bitset) (column.Vec, error) {
	switch {
	case n.Op == expr.OpLit:
		return n.Value, nil
	case n.Fixed:
		return f.constant(n)
	}
	if err := f.m.Step(meter.LookWork / 16); err != nil {
		return column.Vec{}, err
	}
	mark := f.m.Mark()
	v, err := f.compute(n, rows)
	if err != nil {
		return column.Vec{}, sql.At(err, n.Pos)
	}
	f.m.Settle(mark, v.Bytes())
	return v, nil
}

// constant computes an operation on constants once for all slices. Bind has folded all other constants,
// except for those that fail or are too large to keep.
func (f *frame) constant(n *expr.Node) (column.Vec, error) {
	if v, ok := f.consts[n]; ok {
		return v, nil
	}
	var v column.Vec
	err := f.m.Apart(func() (bytes int, err error) {
		one := frame{m: f.m, n: 1, cols: map[int]column.Vec{}, consts: f.consts}
		v, err = one.compute(n, nil)
		return v.Bytes(), err
	})
	if err != nil {
		return column.Vec{}, sql.At(err, n.Pos)
	}
	v.Const = true // CASE and list functions return a column, here with one row
	f.consts[n] = v
	return v, nil
}

// compute evaluates the arguments of an operation, and then the operation. AND, OR and CASE evaluate
// arguments for some of the rows only; all other operations for all given rows.
func (f *frame) compute(n *expr.Node, rows column.Bitset) (column.Vec, error) {
	switch {
	case f.leaf != nil && n.Leaf == f.leaf && n.IsLeaf():
		return f.given, nil
	case n.Leaf != nil && f.leaf == nil && !n.IsLeaf():
		if v, ok, err := f.byValue(n, rows); ok || err != nil {
			return v, err
		}
	}
	switch op := n.Op; {
	case op == expr.OpCol:
		return f.column(n)
	case op == expr.OpAnd || op == expr.OpOr:
		return f.logic(n, rows)
	case op == expr.OpCase:
		return f.caseWhen(n, rows)
	case op == expr.OpCall && n.Func.PerRow != nil:
		return f.random(n)
	}
	args := make([]column.Vec, len(n.Args))
	for i, a := range n.Args {
		if n.Op == expr.OpIn && n.Ready != nil && i > 0 {
			break // the list is in the prepared set
		}
		var err error
		if args[i], err = f.eval(a, rows); err != nil {
			return column.Vec{}, err
		}
	}
	bits, _ := column.SlotBits(n.Type)
	if err := f.m.Take(bits * f.n / 8); err != nil {
		return column.Vec{}, err
	}
	return f.apply(n, args, rows)
}

// apply computes an operation whose arguments are evaluated.
func (f *frame) apply(n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	switch op := n.Op; {
	case op == expr.OpMember:
		return selectMember(f.m, n, args[0])
	case op == expr.OpNot:
		return compute.InvertBool(args[0]), nil
	case op == expr.OpIsNull:
		return compute.IsNullTest(args[0], n.Not), nil
	case op == expr.OpIsTrue || op == expr.OpIsFalse:
		return compute.TruthTest(args[0], op == expr.OpIsTrue, n.Not), nil
	case op.IsComparison():
		return compute.Compare(op, args[0], args[1]), nil
	case op.IsArithmetic() && column.IsTemporal(args[0].Type):
		return compute.TemporalRows(f.m, n, args, rows)
	case op.IsArithmetic():
		return compute.Arithmetic(op, n.Type, args[0], args[1], rows)
	case op.IsBitwise():
		return compute.Bitwise(f.m, n, args, rows)
	case op == expr.OpNeg:
		return compute.Negate(args[0], rows)
	case op == expr.OpConcat:
		return compute.Concat(f.m, n.Type, args[0], args[1], rows)
	case op == expr.OpBetween:
		return compute.Between(n, args), nil
	case op == expr.OpIn:
		return f.in(n, args)
	case op == expr.OpLike:
		return text.Like(f.m, n, args[0], args[1], rows)
	case op == expr.OpCast:
		return cast.Vec(f.m, args[0], n.Type, rows, n.Try)
	case op == expr.OpCall:
		return n.Func.Eval(f.m, n, args, rows)
	}
	return column.Vec{}, sql.Errorf(sql.ErrUnsupported, n.Pos, "evaluation of %s", n.Op)
}

// column loads a column once per batch, even if the expression names it several times.
func (f *frame) column(n *expr.Node) (column.Vec, error) {
	if v, ok := f.cols[n.Index]; ok {
		return v, nil
	}
	mark := f.m.Mark()
	v, err := column.Load(f.m, f.arrs[n.Index])
	if err != nil {
		return column.Vec{}, err
	}
	f.m.HoldColumn(mark)
	f.cols[n.Index] = v
	return v, nil
}

// random computes different values for each row.
func (f *frame) random(n *expr.Node) (column.Vec, error) {
	if err := f.m.Take(randomBytes * f.n); err != nil {
		return column.Vec{}, err
	}
	return n.Func.PerRow(f.n), nil
}

// randomBytes is the size of a row's value of random or uuid, with an offset.
const randomBytes = 44

// selectMember returns a struct member. It is NULL where the struct is NULL.
func selectMember(m *meter.Meter, n *expr.Node, x column.Vec) (column.Vec, error) {
	v, err := column.Load(m, x.Data.(*array.Struct).Field(n.Index))
	if err != nil {
		return column.Vec{}, err
	}
	v.Valid = column.And(v.Valid, x.Valid)
	v.Const = x.Const
	return v, nil
}
