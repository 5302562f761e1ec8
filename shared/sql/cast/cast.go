// Package cast converts columns and constants from type to type, by the rules of native
// Lance. [Vec] converts within an evaluation, [Convert] an array of its own. number.go,
// decimal.go, text.go, time.go and format.go hold the rules for each kind of type.
package cast

import (
	"context"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/meter"
)

// Possible reports whether values of one type can be converted to another.
func Possible(from, to arrow.DataType) bool {
	switch {
	case column.SameType(from, to), from.ID() == arrow.NULL && !column.IsNested(to), from.ID() == arrow.NULL && (column.IsList(to) || column.IsMap(to)):
		return true
	case column.IsMap(from) && column.IsMap(to):
		a, b := from.(*arrow.MapType), to.(*arrow.MapType)
		return Possible(a.KeyType(), b.KeyType()) && Possible(a.ItemType(), b.ItemType())
	case column.IsList(from) && column.IsList(to):
		return Possible(column.ElemType(from), column.ElemType(to)) && !(to.ID() == arrow.FIXED_SIZE_LIST && column.IsNested(column.ElemType(to)))
	case column.IsList(to) && holdsOne(to):
		return Possible(from, column.ElemType(to))
	case column.IsString(to) && (from.ID() == arrow.LIST || from.ID() == arrow.LARGE_LIST):
		return column.IsBinary(column.ElemType(from)) || column.ElemType(from).ID() == arrow.BOOL || Possible(column.ElemType(from), to)
	case column.IsNested(from) || column.IsNested(to):
		return false
	case column.IsNumeric(from) && column.IsNumeric(to):
		// Native Lance has no conversion between float16 and decimals.
		return !(from.ID() == arrow.FLOAT16 && column.IsDecimal(to)) && !(column.IsDecimal(from) && to.ID() == arrow.FLOAT16)
	case from.ID() == arrow.BOOL:
		return column.IsInteger(to) || column.IsFloat(to) || column.IsString(to)
	case to.ID() == arrow.BOOL:
		return column.IsInteger(from) || column.IsFloat(from) || column.IsString(from)
	case column.IsString(from):
		return column.IsNumeric(to) || column.IsString(to) || column.IsDate(to) || column.IsTime(to) || column.IsTimestamp(to) || column.IsVarBinary(to)
	case column.IsString(to):
		return column.IsNumeric(from) && from.ID() != arrow.FLOAT16 || column.IsVarBinary(from) || column.IsDate(from) || column.IsTimestamp(from) || column.IsTime(from) || from.ID() == arrow.DURATION
	case column.IsBinary(from):
		return column.IsVarBinary(to) || column.IsVarBinary(from) && to.ID() == arrow.FIXED_SIZE_BINARY
	case column.IsVarBinary(to):
		return column.IsInteger(from)
	}
	return temporalCastable(from, to)
}

// holdsOne reports whether a list of a type can have exactly one element.
func holdsOne(list arrow.DataType) bool {
	fixed, ok := list.(*arrow.FixedSizeListType)
	return !ok || fixed.Len() == 1
}

// A caster converts the values of one column.
type caster struct {
	m    *meter.Meter
	from column.Vec
	to   arrow.DataType
	live column.Bitset // rows to convert
	try  bool          // failures are NULL
	out  column.Vec
	own  bool // out.valid is not shared with from
	err  error
}

// Convert implements CAST, including casts to dictionaries. A value without a counterpart in the type is
// sql.ErrValue, and NULLs stay NULL. It stops when the context ends. During the conversion the memory of
// the result is accounted to the context's share; afterwards the caller accounts for it.
func Convert(ctx context.Context, values arrow.Array, to arrow.DataType) (arrow.Array, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !column.Loadable(values.DataType()) {
		return nil, sql.Errorf(sql.ErrUnsupported, sql.NoPos, "values of %s", values.DataType())
	}
	m := meter.New(ctx)
	defer m.End()
	v, err := column.Load(m, values)
	if err != nil {
		return nil, err
	}
	plain := to
	dictionary, isDictionary := to.(*arrow.DictionaryType)
	if isDictionary {
		plain = dictionary.ValueType
	}
	if !Possible(v.Type, plain) {
		return nil, sql.Errorf(sql.ErrUnsupported, sql.NoPos, "conversion of %s to %s", v.Type, to)
	}
	if v, err = Vec(m, v, plain, nil, false); err != nil {
		return nil, err
	}
	out, err := v.Array(m, values.Len())
	if err == nil && isDictionary {
		return encode(out, dictionary)
	}
	return out, err
}

// encode returns values as a dictionary, each once. More different values than its index has numbers are
// sql.ErrValue.
func encode(values arrow.Array, to *arrow.DictionaryType) (arrow.Array, error) {
	b := array.NewDictionaryBuilder(column.Allocator, to)
	defer b.Release()
	if err := b.AppendArray(values); err != nil {
		return nil, sql.Errorf(sql.ErrUnsupported, sql.NoPos, "conversion of %s to %s", values.DataType(), to)
	}
	bits := column.BitWidth(to.IndexType)
	if column.IsSigned(to.IndexType) {
		bits--
	}
	if bits < 63 && b.DictionarySize() > 1<<bits {
		return nil, sql.Errorf(sql.ErrValue, sql.NoPos, "more different values than %s can number", to.IndexType)
	}
	return b.NewDictionaryArray(), nil
}

// Vec converts v for the given rows. A value without a counterpart in the type is NULL if
// try is set, and otherwise an error.
func Vec(m *meter.Meter, v column.Vec, to arrow.DataType, rows column.Bitset, try bool) (column.Vec, error) {
	if column.SameType(v.Type, to) {
		return v, nil
	}
	if v.Const {
		if v.IsNull(0) && (column.IsList(v.Type) || !column.IsList(to)) {
			return column.Null(to), nil
		}
		rows = nil
	}
	c := caster{m: m, from: v, to: to, live: v.Live(rows, v.N), try: try}
	c.out = column.Vec{Type: to, N: v.N, Const: v.Const, Valid: v.Valid}
	if c.convert(); c.err != nil {
		return column.Vec{}, c.err
	}
	return c.out, nil
}

// fail records that row i has no counterpart. It returns false if the conversion must stop.
func (c *caster) fail(i int, format string, args ...any) bool {
	if c.try {
		if !c.own {
			c.own = true
			c.out.Valid = column.And(column.FullBitset(c.from.N), c.from.Valid)
		}
		c.out.Valid.Clear(i)
		return true
	}
	c.err = sql.Errorf(sql.ErrValue, sql.NoPos, format, args...)
	return false
}

// each calls f for the rows to convert, until f returns false.
func (c *caster) each(f func(i int) bool) {
	work := column.RowWork([]column.Vec{c.from})
	c.live.Each(c.from.N, func(i int) bool {
		if err := c.m.Step(work); err != nil {
			c.err = err
			return false
		}
		return f(i)
	})
}

// convert selects the conversion by the kinds of the two types. Possible has already refused all
// unsupported pairs.
func (c *caster) convert() {
	from, to := c.from.Type, c.to
	switch {
	case from.ID() == arrow.NULL:
		c.out = column.Vec{Type: to, N: c.from.N, Valid: column.NewBitset(c.from.N), Data: column.Zeros(to, c.from.N)}
		if column.IsList(to) || column.IsMap(to) {
			c.out.Data = column.NoLists(to, c.from.N)
		}
	case column.IsList(from) && column.IsString(to):
		c.format()
	case column.IsList(from):
		c.lists()
	case column.IsMap(from):
		c.maps()
	case column.IsList(to):
		c.singles()
	case column.IsBinary(from) && column.IsString(to):
		c.checkUTF8()
	case to.ID() == arrow.FIXED_SIZE_BINARY:
		c.checkWidth()
	case (column.IsString(from) || column.IsBinary(from)) && (column.IsString(to) || column.IsBinary(to)):
		c.out.Data = c.from.Data
	case column.IsString(from):
		c.parse()
	case column.IsString(to):
		c.format()
	case column.IsTemporal(from) || column.IsTemporal(to):
		c.temporal()
	case column.IsDecimal(from) || column.IsDecimal(to):
		c.decimals()
	case from.ID() == arrow.BOOL:
		c.fromBool()
	case to.ID() == arrow.BOOL:
		c.toBool()
	case column.IsVarBinary(to):
		c.bytes()
	default:
		c.numbers()
	}
}

// lists converts the elements and keeps the offsets of the lists.
func (c *caster) lists() {
	l := c.from.Data.(column.Lists)
	elems, err := Vec(c.m, l.Elems, column.ElemType(c.to), nil, c.try)
	c.err = err
	c.out.Data = column.Lists{Off: l.Off, Elems: elems}
	if to, ok := c.to.(*arrow.FixedSizeListType); ok && err == nil {
		c.each(func(i int) bool {
			n := l.Off[i+1] - l.Off[i]
			return n == int64(to.Len()) || c.fail(i, "list of %d values, where %d are wanted", n, to.Len())
		})
	}
}

// maps converts the keys and the values, and keeps the offsets of the maps.
func (c *caster) maps() {
	l, members := c.from.Data.(column.Lists), [2]column.Vec{}
	to := column.ElemType(c.to).(*arrow.StructType)
	for i := range members {
		member, err := l.Member(c.m, i)
		if err == nil {
			members[i], err = Vec(c.m, member, to.Field(i).Type, nil, c.try)
		}
		if err != nil {
			c.err = err
			return
		}
	}
	c.out.Data, c.err = column.Entries(c.m, c.to, l.Off, members[0], members[1])
}

// singles turns each value into a list of one element; NULL becomes a list with one NULL.
func (c *caster) singles() {
	elems, err := Vec(c.m, c.from, column.ElemType(c.to), c.live, c.try)
	c.err = err
	off := make([]int64, c.from.N+1)
	for i := range off {
		off[i] = int64(i)
	}
	elems.Const = false
	c.out.Valid, c.out.Data = nil, column.Lists{Off: off, Elems: elems}
}

// bytes converts integers to binaries of their bytes, lowest byte first.
func (c *caster) bytes() {
	b := column.NewTextBuilder(c.m, c.from.N)
	for i := range c.from.N {
		b.Data = c.from.AppendKey(b.Data, i)
		b.Done()
	}
	c.err = b.Account()
	c.out.Data = b.Text()
}

// checkWidth converts binaries to fixed-size binaries, and fails for values of another length.
func (c *caster) checkWidth() {
	t, width := c.from.Data.(column.Text), c.to.(*arrow.FixedSizeBinaryType).ByteWidth
	c.out.Data = t
	c.each(func(i int) bool {
		n := len(t.At(i))
		return n == width || c.fail(i, "binary value of %d bytes, where %d are wanted", n, width)
	})
}

// checkUTF8 converts binaries to strings, and fails for values in the given rows that are not valid UTF-8.
func (c *caster) checkUTF8() {
	t := c.from.Data.(column.Text)
	c.out.Data = t
	c.each(func(i int) bool {
		return utf8.Valid(t.At(i)) || c.fail(i, "binary value is not valid utf-8")
	})
}
