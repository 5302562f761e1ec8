package sqlexpr

import (
	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/cast"
	"tiltyard/shared/sql/column"
	"tiltyard/shared/sql/meter"
)

// A param says what type an argument of some type is cast to, nil if it is refused.
type param func(t arrow.DataType) arrow.DataType

// signature binds a function by its parameters, of which the last stands for all further
// arguments too. The result is made of the types that the arguments were cast to.
func signature(result func(types []arrow.DataType) arrow.DataType, params ...param) func(n *node) (*node, error) {
	return func(n *node) (*node, error) {
		types := make([]arrow.DataType, len(n.args))
		for i, a := range n.args {
			if types[i] = params[min(i, len(params)-1)](a.typ); types[i] == nil {
				return nil, mismatch(n)
			}
		}
		return castArgs(n, result(types), types...)
	}
}

// gives is the result of functions whose type does not depend on their arguments.
func gives(t arrow.DataType) func([]arrow.DataType) arrow.DataType {
	return func([]arrow.DataType) arrow.DataType { return t }
}

// likeFirst is the result of functions that return what they are given first.
func likeFirst(types []arrow.DataType) arrow.DataType { return types[0] }

// likeWidest is a string with long offsets if one of the arguments has them.
func likeWidest(types []arrow.DataType) arrow.DataType {
	for _, t := range types {
		if t.ID() == arrow.LARGE_STRING {
			return t
		}
	}
	return types[0]
}

// lengthOfFirst is the type in which lengths and positions within the first argument count.
func lengthOfFirst(types []arrow.DataType) arrow.DataType { return lengthType(types[0]) }

// castText takes numbers, bools and what belongs to the calendar as strings too.
func castText(t arrow.DataType) arrow.DataType {
	if s := asText(t); s != nil {
		return s
	}
	if cast.Possible(t, column.TypeString) && !column.IsBinary(t) {
		return column.TypeString
	}
	return nil
}

// textOrBytes takes strings and binaries as they are.
func textOrBytes(t arrow.DataType) arrow.DataType {
	if column.IsBinary(t) {
		return t
	}
	return asText(t)
}

// wholeNumber takes all integers as int64.
func wholeNumber(t arrow.DataType) arrow.DataType {
	if column.IsInteger(t) || t.ID() == arrow.NULL {
		return column.TypeInt64
	}
	return nil
}

// floatNumber takes float32 as it is and other numbers as float64.
func floatNumber(t arrow.DataType) arrow.DataType {
	switch {
	case t.ID() == arrow.FLOAT32:
		return t
	case column.IsNumeric(t), t.ID() == arrow.NULL:
		return column.TypeFloat64
	}
	return nil
}

// doubleNumber takes all numbers as float64.
func doubleNumber(t arrow.DataType) arrow.DataType {
	if column.IsNumeric(t) || t.ID() == arrow.NULL {
		return column.TypeFloat64
	}
	return nil
}

// callRows makes the vec of a call without its data: it is NULL where an argument is. It
// returns the rows to compute.
func callRows(n *node, args []column.Vec, rows column.Bitset) (out column.Vec, live column.Bitset) {
	return strictRows(n, args, args, rows)
}

// strictRows is callRows of a call that is NULL only where one of some arguments is.
func strictRows(n *node, args, strict []column.Vec, rows column.Bitset) (out column.Vec, live column.Bitset) {
	size, konst := column.Width(args...)
	out = column.Vec{Type: n.typ, N: size, Const: konst}
	for _, a := range strict {
		out.Valid = a.Live(out.Valid, size)
	}
	if konst {
		rows = nil
	}
	return out, column.And(rows, out.Valid)
}

// textRows computes texts, for which f appends to dst, for the rows without a NULL.
func textRows(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset, f func(dst []byte, i int) ([]byte, error)) (column.Vec, error) {
	return strictTexts(m, n, args, args, rows, f)
}

// strictTexts is textRows of a call that is NULL only where one of some arguments is.
func strictTexts(m *meter.Meter, n *node, args, strict []column.Vec, rows column.Bitset, f func(dst []byte, i int) ([]byte, error)) (column.Vec, error) {
	return buildTexts(m, n, args, strict, rows, func(b *column.TextBuilder, i int) (err error) {
		b.Data, err = f(b.Data, i)
		return err
	})
}

// buildTexts is strictTexts for f that can make much of little, and reserves room for it.
func buildTexts(m *meter.Meter, n *node, args, strict []column.Vec, rows column.Bitset, f func(b *column.TextBuilder, i int) error) (column.Vec, error) {
	out, live := strictRows(n, args, strict, rows)
	b, each := column.NewTextBuilder(m, out.N), column.RowWork(args)
	for i := range out.N {
		if live == nil || live.Has(i) {
			before := len(b.Data)
			if err := f(b, i); err != nil {
				return column.Vec{}, err
			}
			if err := b.Account(); err != nil {
				return column.Vec{}, err
			}
			if err := m.Step(each + len(b.Data) - before); err != nil {
				return column.Vec{}, err
			}
		}
		b.Done()
	}
	out.Data = b.Text()
	return out, nil
}

// fixedRows computes values of a fixed width for the rows without a NULL.
func fixedRows[T any](m *meter.Meter, n *node, args []column.Vec, rows column.Bitset, f func(i int) (T, error)) (column.Vec, error) {
	out, live := callRows(n, args, rows)
	values := make([]T, out.N)
	out.Data = values
	each := column.RowWork(args)
	var err error
	live.Each(out.N, func(i int) bool {
		if err = m.Step(each); err == nil {
			values[i], err = f(i)
		}
		return err == nil
	})
	return out, err
}

// boolRows computes bools for the rows without a NULL.
func boolRows(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset, f func(i int) bool) (column.Vec, error) {
	out, live := callRows(n, args, rows)
	bits := column.NewBitset(out.N)
	out.Data = bits
	each := column.RowWork(args)
	var err error
	live.Each(out.N, func(i int) bool {
		if f(i) {
			bits.Set(i)
		}
		err = m.Step(each)
		return err == nil
	})
	return out, err
}

// lengthRows computes lengths or positions, in the type that callers were promised.
func lengthRows(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset, f func(i int) int) (column.Vec, error) {
	if n.typ.ID() == arrow.INT64 {
		return fixedRows(m, n, args, rows, func(i int) (int64, error) { return int64(f(i)), nil })
	}
	return fixedRows(m, n, args, rows, func(i int) (int32, error) { return int32(f(i)), nil })
}

// argTypes returns the types of the arguments.
func argTypes(n *node) []arrow.DataType {
	types := make([]arrow.DataType, len(n.args))
	for i, a := range n.args {
		types[i] = a.typ
	}
	return types
}

// lengthType is the type of the length of a string.
func lengthType(t arrow.DataType) arrow.DataType {
	if t.ID() == arrow.LARGE_STRING {
		return column.TypeInt64
	}
	return arrow.PrimitiveTypes.Int32
}

// castArgs casts the arguments to types, in order, and sets the type of the result.
func castArgs(n *node, result arrow.DataType, types ...arrow.DataType) (*node, error) {
	args := make([]*node, len(n.args))
	for i, a := range n.args {
		var err error
		if args[i], err = castTo(a, types[i]); err != nil {
			return nil, err
		}
	}
	n = n.with(args...)
	n.typ = result
	return n, nil
}

// asText returns the type of a string argument: its own, or string for NULL; nil if the
// argument is no string.
func asText(t arrow.DataType) arrow.DataType {
	switch {
	case column.IsString(t):
		return t
	case t.ID() == arrow.NULL:
		return column.TypeString
	}
	return nil
}

// unionOf finds one type for several, of which all but strings and NULL must be of one
// kind: all numbers, all bools or all of the calendar.
func unionOf(n *node, types []arrow.DataType) (arrow.DataType, error) {
	kind := func(t arrow.DataType) int {
		switch {
		case column.IsNumeric(t):
			return 1
		case t.ID() == arrow.BOOL:
			return 2
		case column.IsTemporal(t):
			return 3
		}
		return 0
	}
	common, seen := types[0], 0
	for i, t := range types {
		switch k := kind(t); {
		case k == 0 && !column.IsString(t) && t.ID() != arrow.NULL && !column.SameType(t, types[0]), k != 0 && seen != 0 && k != seen:
			return nil, mismatch(n)
		case k != 0:
			seen = k
		}
		if i > 0 {
			if common = coalesceType(common, t); common == nil {
				return nil, mismatch(n)
			}
		}
	}
	return common, nil
}

// listRows makes a list for every row that counts: f adds its elements, or returns false for
// a list that is NULL.
func listRows(n *node, args []column.Vec, rows column.Bitset, b *column.ListBuilder, f func(i int) bool) (column.Vec, error) {
	out, live := callRows(n, args, rows)
	valid := column.NewBitset(out.N)
	for i := range out.N {
		if (live == nil || live.Has(i)) && f(i) {
			valid.Set(i)
		}
		if err := b.End(); err != nil {
			return column.Vec{}, err
		}
	}
	var err error
	out.Valid = valid
	out.Data, err = b.Lists(column.ElemType(n.typ))
	return out, err
}
