package sqlexpr

import (
	"github.com/apache/arrow-go/v18/arrow"

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
	if castable(t, typeString) && !isBinary(t) {
		return typeString
	}
	return nil
}

// textOrBytes takes strings and binaries as they are.
func textOrBytes(t arrow.DataType) arrow.DataType {
	if isBinary(t) {
		return t
	}
	return asText(t)
}

// wholeNumber takes all integers as int64.
func wholeNumber(t arrow.DataType) arrow.DataType {
	if isInteger(t) || t.ID() == arrow.NULL {
		return typeInt64
	}
	return nil
}

// floatNumber takes float32 as it is and other numbers as float64.
func floatNumber(t arrow.DataType) arrow.DataType {
	switch {
	case t.ID() == arrow.FLOAT32:
		return t
	case isNumeric(t), t.ID() == arrow.NULL:
		return typeFloat64
	}
	return nil
}

// doubleNumber takes all numbers as float64.
func doubleNumber(t arrow.DataType) arrow.DataType {
	if isNumeric(t) || t.ID() == arrow.NULL {
		return typeFloat64
	}
	return nil
}

// callRows makes the vec of a call without its data: it is NULL where an argument is. It
// returns the rows to compute.
func callRows(n *node, args []vec, rows bitset) (out vec, live bitset) {
	return strictRows(n, args, args, rows)
}

// strictRows is callRows of a call that is NULL only where one of some arguments is.
func strictRows(n *node, args, strict []vec, rows bitset) (out vec, live bitset) {
	size, konst := width(args...)
	out = vec{typ: n.typ, n: size, konst: konst}
	for _, a := range strict {
		out.valid = a.live(out.valid, size)
	}
	if konst {
		rows = nil
	}
	return out, and(rows, out.valid)
}

// textRows computes texts, for which f appends to dst, for the rows without a NULL.
func textRows(m *meter.Meter, n *node, args []vec, rows bitset, f func(dst []byte, i int) ([]byte, error)) (vec, error) {
	return strictTexts(m, n, args, args, rows, f)
}

// strictTexts is textRows of a call that is NULL only where one of some arguments is.
func strictTexts(m *meter.Meter, n *node, args, strict []vec, rows bitset, f func(dst []byte, i int) ([]byte, error)) (vec, error) {
	return buildTexts(m, n, args, strict, rows, func(b *textBuilder, i int) (err error) {
		b.data, err = f(b.data, i)
		return err
	})
}

// buildTexts is strictTexts for f that can make much of little, and reserves room for it.
func buildTexts(m *meter.Meter, n *node, args, strict []vec, rows bitset, f func(b *textBuilder, i int) error) (vec, error) {
	out, live := strictRows(n, args, strict, rows)
	b, each := newTextBuilder(m, out.n), rowWork(args)
	for i := range out.n {
		if live == nil || live.has(i) {
			before := len(b.data)
			if err := f(b, i); err != nil {
				return vec{}, err
			}
			if err := b.account(); err != nil {
				return vec{}, err
			}
			if err := m.Step(each + len(b.data) - before); err != nil {
				return vec{}, err
			}
		}
		b.done()
	}
	out.data = b.text()
	return out, nil
}

// fixedRows computes values of a fixed width for the rows without a NULL.
func fixedRows[T any](m *meter.Meter, n *node, args []vec, rows bitset, f func(i int) (T, error)) (vec, error) {
	out, live := callRows(n, args, rows)
	values := make([]T, out.n)
	out.data = values
	each := rowWork(args)
	var err error
	live.each(out.n, func(i int) bool {
		if err = m.Step(each); err == nil {
			values[i], err = f(i)
		}
		return err == nil
	})
	return out, err
}

// boolRows computes bools for the rows without a NULL.
func boolRows(m *meter.Meter, n *node, args []vec, rows bitset, f func(i int) bool) (vec, error) {
	out, live := callRows(n, args, rows)
	bits := newBitset(out.n)
	out.data = bits
	each := rowWork(args)
	var err error
	live.each(out.n, func(i int) bool {
		if f(i) {
			bits.set(i)
		}
		err = m.Step(each)
		return err == nil
	})
	return out, err
}

// lengthRows computes lengths or positions, in the type that callers were promised.
func lengthRows(m *meter.Meter, n *node, args []vec, rows bitset, f func(i int) int) (vec, error) {
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
		return typeInt64
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
	case isString(t):
		return t
	case t.ID() == arrow.NULL:
		return typeString
	}
	return nil
}

// unionOf finds one type for several, of which all but strings and NULL must be of one
// kind: all numbers, all bools or all of the calendar.
func unionOf(n *node, types []arrow.DataType) (arrow.DataType, error) {
	kind := func(t arrow.DataType) int {
		switch {
		case isNumeric(t):
			return 1
		case t.ID() == arrow.BOOL:
			return 2
		case isTemporal(t):
			return 3
		}
		return 0
	}
	common, seen := types[0], 0
	for i, t := range types {
		switch k := kind(t); {
		case k == 0 && !isString(t) && t.ID() != arrow.NULL && !sameType(t, types[0]), k != 0 && seen != 0 && k != seen:
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
func listRows(n *node, args []vec, rows bitset, b *listBuilder, f func(i int) bool) (vec, error) {
	out, live := callRows(n, args, rows)
	valid := newBitset(out.n)
	for i := range out.n {
		if (live == nil || live.has(i)) && f(i) {
			valid.set(i)
		}
		if err := b.end(); err != nil {
			return vec{}, err
		}
	}
	var err error
	out.valid = valid
	out.data, err = b.lists(elemType(n.typ))
	return out, err
}
