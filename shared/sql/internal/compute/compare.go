// Package compute evaluates the operators of expressions on columns: comparisons
// (compare.go), arithmetic, bitwise and logical operators, concatenation, and arithmetic of
// dates and times.
package compute

import (
	"bytes"
	"cmp"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"

	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
)

// Compare evaluates a comparison of two columns of one type. Floats have the total order of IEEE 754, in
// which everything is comparable:
//
//	-NaN < -inf < -1 < -0.0 < 0.0 < 1 < inf < NaN
//
// Two floats are equal if their bits are. Package plan rewrites comparisons with a literal zero so that
// both zeros match; but 0.0 in one column and -0.0 in another are not equal.
func Compare(op expr.Op, l, r column.Vec) column.Vec {
	n, konst := column.Width(l, r)
	out := column.Vec{Type: column.TypeBool, N: n, Const: konst}
	if op != expr.OpDistinct && op != expr.OpNotDistinct {
		out.Valid = column.BothValid(l, r, n)
		out.Data = CompareBits(op, l, r, n)
		return out
	}
	// Two values are not distinct if both are NULL, or if neither is NULL and they are equal.
	all := column.FullBitset(n)
	lv, rv := column.And(all, l.Live(nil, n)), column.And(all, r.Live(nil, n))
	same := column.And(column.And(lv, rv), CompareBits(expr.OpEq, l, r, n))
	same = column.Or(same, column.Or(lv, rv).Invert(n))
	out.Data = same
	if op == expr.OpDistinct {
		out.Data = same.Invert(n)
	}
	return out
}

// CompareBits compares without regard to NULLs. Because the order is total, all six
// operators follow from equality and less-than.
func CompareBits(op expr.Op, l, r column.Vec, n int) column.Bitset {
	if l.Type.ID() == arrow.NULL {
		return column.NewBitset(n)
	}
	switch op {
	case expr.OpEq:
		return equalBits(l, r, n)
	case expr.OpNe:
		return equalBits(l, r, n).Invert(n)
	case expr.OpLt:
		return lessBits(l, r, n)
	case expr.OpGe:
		return lessBits(l, r, n).Invert(n)
	case expr.OpGt:
		return lessBits(r, l, n)
	default: // expr.OpLe
		return lessBits(r, l, n).Invert(n)
	}
}

// equalBits compares for equality. Floats are compared by their bits.
func equalBits(l, r column.Vec, n int) column.Bitset {
	switch a := l.Data.(type) {
	case column.Bitset:
		return equalBools(l, r, n)
	case column.Lists:
		return equalLists(l, r, n)
	case []int8:
		return equalSlices(a, r.Data.([]int8), l.Const, r.Const, n)
	case []int16:
		return equalSlices(a, r.Data.([]int16), l.Const, r.Const, n)
	case []int32:
		return equalSlices(a, r.Data.([]int32), l.Const, r.Const, n)
	case []int64:
		return equalSlices(a, r.Data.([]int64), l.Const, r.Const, n)
	case []uint8:
		return equalSlices(a, r.Data.([]uint8), l.Const, r.Const, n)
	case []uint16:
		return equalSlices(a, r.Data.([]uint16), l.Const, r.Const, n)
	case []uint32:
		return equalSlices(a, r.Data.([]uint32), l.Const, r.Const, n)
	case []uint64:
		return equalSlices(a, r.Data.([]uint64), l.Const, r.Const, n)
	case []column.Half:
		return equalSlices(a, r.Data.([]column.Half), l.Const, r.Const, n)
	case []float32:
		return equalSlices(column.Bits32(a), column.Bits32(r.Data.([]float32)), l.Const, r.Const, n)
	case []float64:
		return equalSlices(column.Bits64(a), column.Bits64(r.Data.([]float64)), l.Const, r.Const, n)
	case []decimal128.Num:
		return equalSlices(a, r.Data.([]decimal128.Num), l.Const, r.Const, n)
	case []decimal256.Num:
		return equalSlices(a, r.Data.([]decimal256.Num), l.Const, r.Const, n)
	case column.Text:
		return compareTexts(a, r.Data.(column.Text), l.Const, r.Const, n, bytes.Equal)
	}
	return column.NewBitset(n)
}

// lessBits compares by less-than. Floats follow the total order of IEEE 754.
func lessBits(l, r column.Vec, n int) column.Bitset {
	ml, mr := l.Mask(), r.Mask()
	switch a := l.Data.(type) {
	case column.Bitset:
		b := r.Data.(column.Bitset)
		return column.Collect(n, func(i int) bool { return !a.Has(i&ml) && b.Has(i&mr) })
	case []int8:
		return lessSlices(a, r.Data.([]int8), l.Const, r.Const, n)
	case []int16:
		return lessSlices(a, r.Data.([]int16), l.Const, r.Const, n)
	case []int32:
		return lessSlices(a, r.Data.([]int32), l.Const, r.Const, n)
	case []int64:
		return lessSlices(a, r.Data.([]int64), l.Const, r.Const, n)
	case []uint8:
		return lessSlices(a, r.Data.([]uint8), l.Const, r.Const, n)
	case []uint16:
		return lessSlices(a, r.Data.([]uint16), l.Const, r.Const, n)
	case []uint32:
		return lessSlices(a, r.Data.([]uint32), l.Const, r.Const, n)
	case []uint64:
		return lessSlices(a, r.Data.([]uint64), l.Const, r.Const, n)
	case []column.Half:
		b := r.Data.([]column.Half)
		return column.Collect(n, func(i int) bool {
			return column.Ordered(int16(a[i&ml]), 15, math.MaxInt16) < column.Ordered(int16(b[i&mr]), 15, math.MaxInt16)
		})
	case []float32:
		return lessFloats(column.Bits32(a), column.Bits32(r.Data.([]float32)), unsigned32, l.Const, r.Const, n, 31, math.MaxInt32)
	case []float64:
		return lessFloats(column.Bits64(a), column.Bits64(r.Data.([]float64)), unsigned64, l.Const, r.Const, n, 63, math.MaxInt64)
	case []decimal128.Num:
		b := r.Data.([]decimal128.Num)
		return column.Collect(n, func(i int) bool { return a[i&ml].Less(b[i&mr]) })
	case []decimal256.Num:
		b := r.Data.([]decimal256.Num)
		return column.Collect(n, func(i int) bool { return a[i&ml].Less(b[i&mr]) })
	case column.Text:
		return compareTexts(a, r.Data.(column.Text), l.Const, r.Const, n, func(x, y []byte) bool { return bytes.Compare(x, y) < 0 })
	}
	return column.NewBitset(n)
}

// compareTexts applies a test to pairs of texts. The text of a constant is looked up once.
func compareTexts(a, b column.Text, aConst, bConst bool, n int, test func(x, y []byte) bool) column.Bitset {
	switch {
	case aConst && bConst:
		return column.Bitset{column.Bit(test(a.At(0), b.At(0)))}
	case aConst:
		c := a.At(0)
		return column.Collect(n, func(i int) bool { return test(c, b.At(i)) })
	case bConst:
		c := b.At(0)
		return column.Collect(n, func(i int) bool { return test(a.At(i), c) })
	}
	return column.Collect(n, func(i int) bool { return test(a.At(i), b.At(i)) })
}

// equalBools compares 64 bools at a time.
func equalBools(l, r column.Vec, n int) column.Bitset {
	l, r = Spread(l, n), Spread(r, n)
	a, b := l.Data.(column.Bitset), r.Data.(column.Bitset)
	out := column.NewBitset(n)
	for i := range out {
		out[i] = ^(a[i] ^ b[i])
	}
	out.Clip(n)
	return out
}

// The loops below process eight values at a time and collect their bits in one byte of a word. They are the
// hot loops of most filters.

// equalSlices returns the rows in which a and b are equal. Constants have one value.
func equalSlices[T comparable](a, b []T, aKonst, bKonst bool, n int) column.Bitset {
	switch {
	case aKonst && bKonst:
		return column.Bitset{column.Bit(a[0] == b[0])}
	case aKonst:
		return EqualConst(b[:n], a[0])
	case bKonst:
		return EqualConst(a[:n], b[0])
	}
	out := column.NewBitset(n)
	a, b = a[:n], b[:n]
	i := 0
	for ; i+8 <= n; i += 8 {
		x, y := a[i:i+8:i+8], b[i:i+8:i+8]
		w := column.Bit(x[0] == y[0]) | column.Bit(x[1] == y[1])<<1 | column.Bit(x[2] == y[2])<<2 | column.Bit(x[3] == y[3])<<3 |
			column.Bit(x[4] == y[4])<<4 | column.Bit(x[5] == y[5])<<5 | column.Bit(x[6] == y[6])<<6 | column.Bit(x[7] == y[7])<<7
		out[i>>6] |= w << (i & 63)
	}
	for ; i < n; i++ {
		out[i>>6] |= column.Bit(a[i] == b[i]) << (i & 63)
	}
	return out
}

// EqualConst returns the rows of a that equal c.
func EqualConst[T comparable](a []T, c T) column.Bitset {
	out := column.NewBitset(len(a))
	i := 0
	for ; i+8 <= len(a); i += 8 {
		x := a[i : i+8 : i+8]
		w := column.Bit(x[0] == c) | column.Bit(x[1] == c)<<1 | column.Bit(x[2] == c)<<2 | column.Bit(x[3] == c)<<3 |
			column.Bit(x[4] == c)<<4 | column.Bit(x[5] == c)<<5 | column.Bit(x[6] == c)<<6 | column.Bit(x[7] == c)<<7
		out[i>>6] |= w << (i & 63)
	}
	for ; i < len(a); i++ {
		out[i>>6] |= column.Bit(a[i] == c) << (i & 63)
	}
	return out
}

// lessSlices returns the rows in which a is less than b. Constants have one value.
func lessSlices[T cmp.Ordered](a, b []T, aKonst, bKonst bool, n int) column.Bitset {
	switch {
	case aKonst && bKonst:
		return column.Bitset{column.Bit(a[0] < b[0])}
	case aKonst:
		return greaterConst(b[:n], a[0])
	case bKonst:
		return lessConst(a[:n], b[0])
	}
	out := column.NewBitset(n)
	a, b = a[:n], b[:n]
	i := 0
	for ; i+8 <= n; i += 8 {
		x, y := a[i:i+8:i+8], b[i:i+8:i+8]
		w := column.Bit(x[0] < y[0]) | column.Bit(x[1] < y[1])<<1 | column.Bit(x[2] < y[2])<<2 | column.Bit(x[3] < y[3])<<3 |
			column.Bit(x[4] < y[4])<<4 | column.Bit(x[5] < y[5])<<5 | column.Bit(x[6] < y[6])<<6 | column.Bit(x[7] < y[7])<<7
		out[i>>6] |= w << (i & 63)
	}
	for ; i < n; i++ {
		out[i>>6] |= column.Bit(a[i] < b[i]) << (i & 63)
	}
	return out
}

// lessConst returns the rows in which a is less than c.
func lessConst[T cmp.Ordered](a []T, c T) column.Bitset {
	out := column.NewBitset(len(a))
	i := 0
	for ; i+8 <= len(a); i += 8 {
		x := a[i : i+8 : i+8]
		w := column.Bit(x[0] < c) | column.Bit(x[1] < c)<<1 | column.Bit(x[2] < c)<<2 | column.Bit(x[3] < c)<<3 |
			column.Bit(x[4] < c)<<4 | column.Bit(x[5] < c)<<5 | column.Bit(x[6] < c)<<6 | column.Bit(x[7] < c)<<7
		out[i>>6] |= w << (i & 63)
	}
	for ; i < len(a); i++ {
		out[i>>6] |= column.Bit(a[i] < c) << (i & 63)
	}
	return out
}

// greaterConst returns the rows in which a is greater than c.
func greaterConst[T cmp.Ordered](a []T, c T) column.Bitset {
	out := column.NewBitset(len(a))
	i := 0
	for ; i+8 <= len(a); i += 8 {
		x := a[i : i+8 : i+8]
		w := column.Bit(c < x[0]) | column.Bit(c < x[1])<<1 | column.Bit(c < x[2])<<2 | column.Bit(c < x[3])<<3 |
			column.Bit(c < x[4])<<4 | column.Bit(c < x[5])<<5 | column.Bit(c < x[6])<<6 | column.Bit(c < x[7])<<7
		out[i>>6] |= w << (i & 63)
	}
	for ; i < len(a); i++ {
		out[i>>6] |= column.Bit(c < a[i]) << (i & 63)
	}
	return out
}

// lessFloats compares the bits of floats as integers, which is faster. Against a non-negative constant, the
// bits as signed integers have the order of the floats. Against a negative constant, the bits as unsigned
// integers have the reverse order.
func lessFloats[S int32 | int64, U uint32 | uint64](a, b []S, unsigned func([]S) []U, aKonst, bKonst bool, n, sign int, low S) column.Bitset {
	switch {
	case aKonst && bKonst:
		return column.Bitset{column.Bit(column.Ordered(a[0], sign, low) < column.Ordered(b[0], sign, low))}
	case aKonst && a[0] >= 0:
		return greaterConst(b[:n], a[0])
	case aKonst:
		return lessConst(unsigned(b[:n]), U(a[0]))
	case bKonst && b[0] >= 0:
		return lessConst(a[:n], b[0])
	case bKonst:
		return greaterConst(unsigned(a[:n]), U(b[0]))
	}
	out := column.NewBitset(n)
	a, b = a[:n], b[:n]
	i := 0
	for ; i+4 <= n; i += 4 {
		x, y := a[i:i+4:i+4], b[i:i+4:i+4]
		w := column.Bit(column.Ordered(x[0], sign, low) < column.Ordered(y[0], sign, low)) |
			column.Bit(column.Ordered(x[1], sign, low) < column.Ordered(y[1], sign, low))<<1 |
			column.Bit(column.Ordered(x[2], sign, low) < column.Ordered(y[2], sign, low))<<2 |
			column.Bit(column.Ordered(x[3], sign, low) < column.Ordered(y[3], sign, low))<<3
		out[i>>6] |= w << (i & 63)
	}
	for ; i < n; i++ {
		out[i>>6] |= column.Bit(column.Ordered(a[i], sign, low) < column.Ordered(b[i], sign, low)) << (i & 63)
	}
	return out
}

func unsigned64(s []int64) []uint64 {
	return arrow.Uint64Traits.CastFromBytes(arrow.Int64Traits.CastToBytes(s))
}

func unsigned32(s []int32) []uint32 {
	return arrow.Uint32Traits.CastFromBytes(arrow.Int32Traits.CastToBytes(s))
}

// equalLists compares lists by the keys of their elements.
func equalLists(l, r column.Vec, n int) column.Bitset {
	var a, b []byte
	return column.Collect(n, func(i int) bool {
		if l.IsNull(i) || r.IsNull(i) {
			return false
		}
		a, b = l.AppendKey(a[:0], l.Slot(i)), r.AppendKey(b[:0], r.Slot(i))
		return bytes.Equal(a, b)
	})
}
