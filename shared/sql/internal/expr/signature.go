package expr

import (
	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/cast"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/meter"
)

// A Param returns the type to which an argument of type t is cast, or nil if t is not accepted.
type Param func(t arrow.DataType) arrow.DataType

// Signature returns a Bind function that casts the arguments by params; the last one also applies to all
// further arguments. result returns the result type for the cast argument types.
func Signature(result func(types []arrow.DataType) arrow.DataType, params ...Param) func(n *Node) (*Node, error) {
	return func(n *Node) (*Node, error) {
		types := make([]arrow.DataType, len(n.Args))
		for i, a := range n.Args {
			if types[i] = params[min(i, len(params)-1)](a.Type); types[i] == nil {
				return nil, Mismatch(n)
			}
		}
		return CastArgs(n, result(types), types...)
	}
}

// Gives returns a result function for a constant type.
func Gives(t arrow.DataType) func([]arrow.DataType) arrow.DataType {
	return func([]arrow.DataType) arrow.DataType { return t }
}

// LikeFirst is the result of functions that return the type of their first argument.
func LikeFirst(types []arrow.DataType) arrow.DataType { return types[0] }

// LikeWidest returns large_utf8 if one of the arguments has that type, else utf8.
func LikeWidest(types []arrow.DataType) arrow.DataType {
	for _, t := range types {
		if t.ID() == arrow.LARGE_STRING {
			return t
		}
	}
	return types[0]
}

// LengthOfFirst is the type of lengths of, and positions within, the first argument.
func LengthOfFirst(types []arrow.DataType) arrow.DataType { return LengthType(types[0]) }

// CastText casts numbers, bools, dates and times to strings, and leaves strings unchanged.
func CastText(t arrow.DataType) arrow.DataType {
	if s := AsText(t); s != nil {
		return s
	}
	if cast.Possible(t, column.TypeString) && !column.IsBinary(t) {
		return column.TypeString
	}
	return nil
}

// TextOrBytes takes strings and binaries without a cast.
func TextOrBytes(t arrow.DataType) arrow.DataType {
	if column.IsBinary(t) {
		return t
	}
	return AsText(t)
}

// WholeNumber casts all integers to int64.
func WholeNumber(t arrow.DataType) arrow.DataType {
	if column.IsInteger(t) || t.ID() == arrow.NULL {
		return column.TypeInt64
	}
	return nil
}

// FloatNumber leaves float32 unchanged and casts other numbers to float64.
func FloatNumber(t arrow.DataType) arrow.DataType {
	switch {
	case t.ID() == arrow.FLOAT32:
		return t
	case column.IsNumeric(t), t.ID() == arrow.NULL:
		return column.TypeFloat64
	}
	return nil
}

// DoubleNumber casts all numbers to float64.
func DoubleNumber(t arrow.DataType) arrow.DataType {
	if column.IsNumeric(t) || t.ID() == arrow.NULL {
		return column.TypeFloat64
	}
	return nil
}

// CallRows returns the column of a call without its data, NULL in the rows where an
// argument is, and the rows to compute.
func CallRows(n *Node, args []column.Vec, rows column.Bitset) (out column.Vec, live column.Bitset) {
	return StrictRows(n, args, args, rows)
}

// StrictRows prepares the result of a call that is NULL only where one of the strict arguments is NULL.
// live are the rows to compute.
func StrictRows(n *Node, args, strict []column.Vec, rows column.Bitset) (out column.Vec, live column.Bitset) {
	size, konst := column.Width(args...)
	out = column.Vec{Type: n.Type, N: size, Const: konst}
	for _, a := range strict {
		out.Valid = a.Live(out.Valid, size)
	}
	if konst {
		rows = nil
	}
	return out, column.And(rows, out.Valid)
}

// TextRows computes texts for the rows without a NULL: f appends the text of row i to dst.
func TextRows(m *meter.Meter, n *Node, args []column.Vec, rows column.Bitset, f func(dst []byte, i int) ([]byte, error)) (column.Vec, error) {
	return strictTexts(m, n, args, args, rows, f)
}

// strictTexts evaluates a text function that is NULL only where one of the strict arguments is NULL.
func strictTexts(m *meter.Meter, n *Node, args, strict []column.Vec, rows column.Bitset, f func(dst []byte, i int) ([]byte, error)) (column.Vec, error) {
	return BuildTexts(m, n, args, strict, rows, func(b *column.TextBuilder, i int) (err error) {
		b.Data, err = f(b.Data, i)
		return err
	})
}

// BuildTexts is the variant of strictTexts for functions whose result can be much longer than the
// arguments. f reserves the memory itself.
func BuildTexts(m *meter.Meter, n *Node, args, strict []column.Vec, rows column.Bitset, f func(b *column.TextBuilder, i int) error) (column.Vec, error) {
	out, live := StrictRows(n, args, strict, rows)
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

// FixedRows computes values of fixed width for the rows without a NULL.
func FixedRows[T any](m *meter.Meter, n *Node, args []column.Vec, rows column.Bitset, f func(i int) (T, error)) (column.Vec, error) {
	out, live := CallRows(n, args, rows)
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

// BoolRows computes bools for the rows without a NULL.
func BoolRows(m *meter.Meter, n *Node, args []column.Vec, rows column.Bitset, f func(i int) bool) (column.Vec, error) {
	out, live := CallRows(n, args, rows)
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

// LengthRows computes lengths or positions, in the type of the node.
func LengthRows(m *meter.Meter, n *Node, args []column.Vec, rows column.Bitset, f func(i int) int) (column.Vec, error) {
	if n.Type.ID() == arrow.INT64 {
		return FixedRows(m, n, args, rows, func(i int) (int64, error) { return int64(f(i)), nil })
	}
	return FixedRows(m, n, args, rows, func(i int) (int32, error) { return int32(f(i)), nil })
}

// ArgTypes returns the types of the arguments.
func ArgTypes(n *Node) []arrow.DataType {
	types := make([]arrow.DataType, len(n.Args))
	for i, a := range n.Args {
		types[i] = a.Type
	}
	return types
}

// LengthType is the type of the length of a string.
func LengthType(t arrow.DataType) arrow.DataType {
	if t.ID() == arrow.LARGE_STRING {
		return column.TypeInt64
	}
	return arrow.PrimitiveTypes.Int32
}

// CastArgs casts the arguments to the given types, in order, and sets the type of the
// result.
func CastArgs(n *Node, result arrow.DataType, types ...arrow.DataType) (*Node, error) {
	args := make([]*Node, len(n.Args))
	for i, a := range n.Args {
		var err error
		if args[i], err = CastTo(a, types[i]); err != nil {
			return nil, err
		}
	}
	n = n.With(args...)
	n.Type = result
	return n, nil
}

// AsText returns the type of a string argument: its own type, or utf8 for NULL. It returns nil for other
// types.
func AsText(t arrow.DataType) arrow.DataType {
	switch {
	case column.IsString(t):
		return t
	case t.ID() == arrow.NULL:
		return column.TypeString
	}
	return nil
}

// UnionOf returns the common type of several types. Apart from NULL, all must be of one kind: strings and
// numbers, strings and bools, strings and dates and times, or all of one other type. Binaries have no
// common type with NULL.
func UnionOf(n *Node, types []arrow.DataType) (arrow.DataType, error) {
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
	isOther := func(t arrow.DataType) bool { return kind(t) == 0 && !column.IsString(t) && t.ID() != arrow.NULL }
	common, seen := types[0], kind(types[0])
	for _, t := range types[1:] {
		k := kind(t)
		if k != 0 && seen != 0 && k != seen {
			return nil, Mismatch(n)
		}
		seen = max(seen, k)
		if (isOther(t) || isOther(common)) && !column.SameType(common, t) {
			if other := NullType(common, t); other == nil || column.IsBinary(other) {
				return nil, Mismatch(n)
			}
		}
		if common = CoalesceType(common, t); common == nil {
			return nil, Mismatch(n)
		}
	}
	return common, nil
}

// CoalesceOf returns the common type of the arguments of coalesce. It differs from UnionOf in the time
// zone: the last one wins instead of the first.
func CoalesceOf(n *Node, types []arrow.DataType) (arrow.DataType, error) {
	common, err := UnionOf(n, types)
	if at, ok := common.(*arrow.TimestampType); ok && at.TimeZone != "" {
		for _, t := range types {
			if zone := column.ZoneOf(t); zone != "" {
				common = column.TimestampType(at.Unit, zone)
			}
		}
	}
	return common, err
}

// ListRows makes a list for each of the given rows. f adds the elements of row i, or
// returns false if the list is NULL.
func ListRows(n *Node, args []column.Vec, rows column.Bitset, b *column.ListBuilder, f func(i int) bool) (column.Vec, error) {
	out, live := CallRows(n, args, rows)
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
	out.Data, err = b.Lists(column.ElemType(n.Type))
	return out, err
}
