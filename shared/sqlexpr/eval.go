package sqlexpr

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/cast"
	"tiltyard/shared/sql/column"
	"tiltyard/shared/sql/meter"
)

// A frame is the rows of a record batch, or a slice of them, under evaluation.
//
// Operations take whole columns. What rows an operation is evaluated for is a set that
// AND, OR and CASE narrow for their arguments. Cheap operations do not look at it and
// compute every row, as that is faster than to choose; those that can fail, or that are
// dear, such as matching text, keep to the set.
type frame struct {
	m      *meter.Meter
	n      int                // rows
	arrs   []arrow.Array      // columns by index of the schema; nil where not used
	cols   map[int]column.Vec // loaded columns
	consts constants
}

// constants are the values of operations of nothing but constants, for all slices.
type constants map[*node]column.Vec

// eval computes a node for the rows that count, nil being all of them. What the result
// holds for other rows is undefined, and errors are raised for none of them.
func (f *frame) eval(n *node, rows column.Bitset) (column.Vec, error) {
	switch {
	case n.op == opLit:
		return n.val, nil
	case n.fixed:
		return f.constant(n)
	}
	if err := f.m.Step(meter.LookWork / 16); err != nil {
		return column.Vec{}, err
	}
	mark := f.m.Mark()
	v, err := f.compute(n, rows)
	if err != nil {
		return column.Vec{}, sql.At(err, n.pos)
	}
	f.m.Settle(mark, v.Bytes())
	return v, nil
}

// constant computes an operation of nothing but constants once for all slices. Those that are
// left after Bind fail, or are too much to be kept by a Bound.
func (f *frame) constant(n *node) (column.Vec, error) {
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
		return column.Vec{}, sql.At(err, n.pos)
	}
	v.Const = true // CASE and list functions make a column, of one row here
	f.consts[n] = v
	return v, nil
}

// compute evaluates the arguments that the operation needs, and then the operation. AND, OR
// and CASE choose rows for their arguments; everything else passes its own on.
func (f *frame) compute(n *node, rows column.Bitset) (column.Vec, error) {
	switch op := n.op; {
	case op == opCol:
		return f.column(n)
	case op == opAnd || op == opOr:
		return f.logic(n, rows)
	case op == opCase:
		return f.caseWhen(n, rows)
	case op == opCall && n.fn.perRow != nil:
		return f.random(n)
	}
	args := make([]column.Vec, len(n.args))
	for i, a := range n.args {
		if n.op == opIn && n.ready != nil && i > 0 {
			break // the list is in the prepared set
		}
		var err error
		if args[i], err = f.eval(a, rows); err != nil {
			return column.Vec{}, err
		}
	}
	bits, _ := column.SlotBits(n.typ)
	if err := f.m.Take(bits * f.n / 8); err != nil {
		return column.Vec{}, err
	}
	return f.apply(n, args, rows)
}

// apply computes an operation of which all arguments are evaluated.
func (f *frame) apply(n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	switch op := n.op; {
	case op == opMember:
		return selectMember(f.m, n, args[0])
	case op == opNot:
		return invertBool(args[0]), nil
	case op == opIsNull:
		return isNullTest(args[0], n.not), nil
	case op == opIsTrue || op == opIsFalse:
		return truthTest(args[0], op == opIsTrue, n.not), nil
	case op.isComparison():
		return compare(op, args[0], args[1]), nil
	case op.isArithmetic() && column.IsTemporal(args[0].Type):
		return temporalRows(f.m, n, args, rows)
	case op.isArithmetic():
		return arithmetic(op, n.typ, args[0], args[1], rows)
	case op.isBitwise():
		return bitwise(f.m, n, args, rows)
	case op == opNeg:
		return negate(args[0], rows)
	case op == opConcat:
		return concat(f.m, n.typ, args[0], args[1], rows)
	case op == opBetween:
		return between(n, args), nil
	case op == opIn:
		return f.in(n, args)
	case op == opLike:
		return like(f.m, n, args[0], args[1], rows)
	case op == opCast:
		return cast.Vec(f.m, args[0], n.typ, rows, n.try)
	case op == opCall:
		return n.fn.eval(f.m, n, args, rows)
	}
	return column.Vec{}, sql.Errorf(sql.ErrUnsupported, n.pos, "evaluation of %s", n.op)
}

// column loads a column once per batch, however often it is named.
func (f *frame) column(n *node) (column.Vec, error) {
	if v, ok := f.cols[n.index]; ok {
		return v, nil
	}
	mark := f.m.Mark()
	v, err := column.Load(f.m, f.arrs[n.index])
	if err != nil {
		return column.Vec{}, err
	}
	f.m.HoldColumn(mark)
	f.cols[n.index] = v
	return v, nil
}

// random makes other values for each row.
func (f *frame) random(n *node) (column.Vec, error) {
	if err := f.m.Take(randomBytes * f.n); err != nil {
		return column.Vec{}, err
	}
	return n.fn.perRow(f.n), nil
}

// randomBytes is what random and uuid make of a row, with an offset.
const randomBytes = 44

// selectMember takes a member out of structs; it is NULL where the struct is.
func selectMember(m *meter.Meter, n *node, x column.Vec) (column.Vec, error) {
	v, err := column.Load(m, x.Data.(*array.Struct).Field(n.index))
	if err != nil {
		return column.Vec{}, err
	}
	v.Valid = column.And(v.Valid, x.Valid)
	v.Const = x.Const
	return v, nil
}
