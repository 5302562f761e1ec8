package sqlexpr

import (
	"context"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/meter"
)

// castable reports whether there is a conversion between two types.
func castable(from, to arrow.DataType) bool {
	switch {
	case sameType(from, to), from.ID() == arrow.NULL && !isNested(to), from.ID() == arrow.NULL && isList(to):
		return true
	case isList(from) && isList(to):
		return castable(elemType(from), elemType(to)) && !(to.ID() == arrow.FIXED_SIZE_LIST && isNested(elemType(to)))
	case isList(to) && holdsOne(to):
		return castable(from, elemType(to))
	case isNested(from) || isNested(to):
		return false
	case isNumeric(from) && isNumeric(to):
		// The native Lance has no conversion between float16 and decimals.
		return !(from.ID() == arrow.FLOAT16 && isDecimal(to)) && !(isDecimal(from) && to.ID() == arrow.FLOAT16)
	case from.ID() == arrow.BOOL:
		return isInteger(to) || isFloat(to) || isString(to)
	case to.ID() == arrow.BOOL:
		return isInteger(from) || isFloat(from) || isString(from)
	case isString(from):
		return isNumeric(to) || isString(to) || isDate(to) || isTime(to) || isTimestamp(to) || isVarBinary(to)
	case isString(to):
		return isNumeric(from) && from.ID() != arrow.FLOAT16 || isVarBinary(from) || isDate(from) || isTimestamp(from) || isTime(from)
	case isBinary(from):
		return isVarBinary(to) || isVarBinary(from) && to.ID() == arrow.FIXED_SIZE_BINARY
	case isVarBinary(to):
		return isInteger(from)
	}
	return temporalCastable(from, to)
}

// holdsOne says whether a list of a type may be of one value.
func holdsOne(list arrow.DataType) bool {
	fixed, ok := list.(*arrow.FixedSizeListType)
	return !ok || fixed.Len() == 1
}

// A caster converts the values of one vec.
type caster struct {
	m    *meter.Meter
	from vec
	to   arrow.DataType
	live bitset // rows to convert
	try  bool   // failures are NULL
	out  vec
	own  bool // out.valid is not shared with from
	err  error
}

// Convert converts values as CAST does: one that has no counterpart in the type is
// sql.ErrValue. NULLs stay NULL. It ends with the context, and takes nothing of its share: the
// caller accounts for the whole of it.
func Convert(ctx context.Context, values arrow.Array, to arrow.DataType) (arrow.Array, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !loadable(values.DataType()) {
		return nil, sql.Errorf(sql.ErrUnsupported, sql.NoPos, "values of %s", values.DataType())
	}
	m := meter.Unshared(ctx)
	v, err := load(m, values)
	if err != nil {
		return nil, err
	}
	if !castable(v.typ, to) {
		return nil, sql.Errorf(sql.ErrUnsupported, sql.NoPos, "conversion of %s to %s", v.typ, to)
	}
	if v, err = castVec(m, v, to, nil, false); err != nil {
		return nil, err
	}
	return v.array(m, values.Len())
}

// castVec converts v, for the rows that count. A value that has no counterpart in the type
// is NULL if try is set, else an error.
func castVec(m *meter.Meter, v vec, to arrow.DataType, rows bitset, try bool) (vec, error) {
	if sameType(v.typ, to) {
		return v, nil
	}
	if v.konst {
		if v.isNull(0) && (isList(v.typ) || !isList(to)) {
			return nullVec(to), nil
		}
		rows = nil
	}
	c := caster{m: m, from: v, to: to, live: v.live(rows, v.n), try: try}
	c.out = vec{typ: to, n: v.n, konst: v.konst, valid: v.valid}
	if c.convert(); c.err != nil {
		return vec{}, c.err
	}
	return c.out, nil
}

// fail notes that row i has no counterpart. It returns false if the conversion must end.
func (c *caster) fail(i int, format string, args ...any) bool {
	if c.try {
		if !c.own {
			c.own = true
			c.out.valid = and(fullBitset(c.from.n), c.from.valid)
		}
		c.out.valid.clear(i)
		return true
	}
	c.err = sql.Errorf(sql.ErrValue, sql.NoPos, format, args...)
	return false
}

// each calls f for the rows to convert, until f is false.
func (c *caster) each(f func(i int) bool) {
	work := rowWork([]vec{c.from})
	c.live.each(c.from.n, func(i int) bool {
		if err := c.m.Step(work); err != nil {
			c.err = err
			return false
		}
		return f(i)
	})
}

// convert dispatches on what kinds of types the two are. The pairs that castable refuses do
// not get here.
func (c *caster) convert() {
	from, to := c.from.typ, c.to
	switch {
	case from.ID() == arrow.NULL:
		c.out = vec{typ: to, n: c.from.n, valid: newBitset(c.from.n), data: zeroData(to, c.from.n)}
		if isList(to) {
			c.out.data = lists{off: make([]int64, c.from.n+1), elems: vec{typ: elemType(to), data: emptyData(elemType(to))}}
		}
	case isList(from):
		c.lists()
	case isList(to):
		c.singles()
	case isBinary(from) && isString(to):
		c.checkUTF8()
	case to.ID() == arrow.FIXED_SIZE_BINARY:
		c.checkWidth()
	case (isString(from) || isBinary(from)) && (isString(to) || isBinary(to)):
		c.out.data = c.from.data
	case isString(from):
		c.parse()
	case isString(to):
		c.format()
	case isTemporal(from) || isTemporal(to):
		c.temporal()
	case isDecimal(from) || isDecimal(to):
		c.decimals()
	case from.ID() == arrow.BOOL:
		c.fromBool()
	case to.ID() == arrow.BOOL:
		c.toBool()
	case isVarBinary(to):
		c.bytes()
	default:
		c.numbers()
	}
}

// lists converts the elements; which belong to which list stays.
func (c *caster) lists() {
	l := c.from.data.(lists)
	elems, err := castVec(c.m, l.elems, elemType(c.to), nil, c.try)
	c.err = err
	c.out.data = lists{off: l.off, elems: elems}
	if to, ok := c.to.(*arrow.FixedSizeListType); ok && err == nil {
		c.each(func(i int) bool {
			n := l.off[i+1] - l.off[i]
			return n == int64(to.Len()) || c.fail(i, "list of %d values, where %d are wanted", n, to.Len())
		})
	}
}

// singles makes a list of each value, also of one that is NULL.
func (c *caster) singles() {
	elems, err := castVec(c.m, c.from, elemType(c.to), c.live, c.try)
	c.err = err
	off := make([]int64, c.from.n+1)
	for i := range off {
		off[i] = int64(i)
	}
	elems.konst = false
	c.out.valid, c.out.data = nil, lists{off: off, elems: elems}
}

// bytes makes binaries of the bytes of integers, the lowest first.
func (c *caster) bytes() {
	b := newTextBuilder(c.m, c.from.n)
	for i := range c.from.n {
		b.data = c.from.appendKey(b.data, i)
		b.done()
	}
	c.err = b.account()
	c.out.data = b.text()
}

// checkWidth makes binaries of one width of others, which must have it.
func (c *caster) checkWidth() {
	t, width := c.from.data.(text), c.to.(*arrow.FixedSizeBinaryType).ByteWidth
	c.out.data = t
	c.each(func(i int) bool {
		n := len(t.at(i))
		return n == width || c.fail(i, "binary value of %d bytes, where %d are wanted", n, width)
	})
}

// checkUTF8 makes strings of binaries, which must be valid for the rows that count only.
func (c *caster) checkUTF8() {
	t := c.from.data.(text)
	c.out.data = t
	c.each(func(i int) bool {
		return utf8.Valid(t.at(i)) || c.fail(i, "binary value is not valid utf-8")
	})
}
