package sqlexpr

import (
	"bytes"
	"cmp"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
)

// compare evaluates a comparison of two vecs of one type. Floats have the total order of
// IEEE 754, in which everything is comparable:
//
//	-NaN < -inf < -1 < -0.0 < 0.0 < 1 < inf < NaN
//
// and equal means the same bits. For a literal zero rewriteZero has seen to it that both
// zeros count; two columns of which one has 0.0 and the other -0.0 are not equal.
func compare(op opcode, l, r vec) vec {
	n, konst := width(l, r)
	out := vec{typ: typeBool, n: n, konst: konst}
	if op != opDistinct && op != opNotDistinct {
		out.valid = bothValid(l, r, n)
		out.data = compareBits(op, l, r, n)
		return out
	}
	// Not distinct: both NULL, or both not and equal.
	all := fullBitset(n)
	lv, rv := and(all, l.live(nil, n)), and(all, r.live(nil, n))
	same := and(and(lv, rv), compareBits(opEq, l, r, n))
	same = or(same, or(lv, rv).invert(n))
	out.data = same
	if op == opDistinct {
		out.data = same.invert(n)
	}
	return out
}

// compareBits compares without regard to NULLs. All six operators come down to equality
// and less-than, as the order is total.
func compareBits(op opcode, l, r vec, n int) bitset {
	if l.typ.ID() == arrow.NULL {
		return newBitset(n)
	}
	switch op {
	case opEq:
		return equalBits(l, r, n)
	case opNe:
		return equalBits(l, r, n).invert(n)
	case opLt:
		return lessBits(l, r, n)
	case opGe:
		return lessBits(l, r, n).invert(n)
	case opGt:
		return lessBits(r, l, n)
	default: // opLe
		return lessBits(r, l, n).invert(n)
	}
}

// equalBits compares for equality. Floats are compared by their bits.
func equalBits(l, r vec, n int) bitset {
	switch a := l.data.(type) {
	case bitset:
		return equalBools(l, r, n)
	case lists:
		return equalLists(l, r, n)
	case []int8:
		return equalSlices(a, r.data.([]int8), l.konst, r.konst, n)
	case []int16:
		return equalSlices(a, r.data.([]int16), l.konst, r.konst, n)
	case []int32:
		return equalSlices(a, r.data.([]int32), l.konst, r.konst, n)
	case []int64:
		return equalSlices(a, r.data.([]int64), l.konst, r.konst, n)
	case []uint8:
		return equalSlices(a, r.data.([]uint8), l.konst, r.konst, n)
	case []uint16:
		return equalSlices(a, r.data.([]uint16), l.konst, r.konst, n)
	case []uint32:
		return equalSlices(a, r.data.([]uint32), l.konst, r.konst, n)
	case []uint64:
		return equalSlices(a, r.data.([]uint64), l.konst, r.konst, n)
	case []half:
		return equalSlices(a, r.data.([]half), l.konst, r.konst, n)
	case []float32:
		return equalSlices(bits32(a), bits32(r.data.([]float32)), l.konst, r.konst, n)
	case []float64:
		return equalSlices(bits64(a), bits64(r.data.([]float64)), l.konst, r.konst, n)
	case []decimal128.Num:
		return equalSlices(a, r.data.([]decimal128.Num), l.konst, r.konst, n)
	case []decimal256.Num:
		return equalSlices(a, r.data.([]decimal256.Num), l.konst, r.konst, n)
	case text:
		b, ml, mr := r.data.(text), l.mask(), r.mask()
		return collect(n, func(i int) bool { return bytes.Equal(a.at(i&ml), b.at(i&mr)) })
	}
	return newBitset(n)
}

// lessBits compares by less-than. Floats follow the total order of IEEE 754.
func lessBits(l, r vec, n int) bitset {
	ml, mr := l.mask(), r.mask()
	switch a := l.data.(type) {
	case bitset:
		b := r.data.(bitset)
		return collect(n, func(i int) bool { return !a.has(i&ml) && b.has(i&mr) })
	case []int8:
		return lessSlices(a, r.data.([]int8), l.konst, r.konst, n)
	case []int16:
		return lessSlices(a, r.data.([]int16), l.konst, r.konst, n)
	case []int32:
		return lessSlices(a, r.data.([]int32), l.konst, r.konst, n)
	case []int64:
		return lessSlices(a, r.data.([]int64), l.konst, r.konst, n)
	case []uint8:
		return lessSlices(a, r.data.([]uint8), l.konst, r.konst, n)
	case []uint16:
		return lessSlices(a, r.data.([]uint16), l.konst, r.konst, n)
	case []uint32:
		return lessSlices(a, r.data.([]uint32), l.konst, r.konst, n)
	case []uint64:
		return lessSlices(a, r.data.([]uint64), l.konst, r.konst, n)
	case []half:
		b := r.data.([]half)
		return collect(n, func(i int) bool {
			return ordered(int16(a[i&ml]), 15, math.MaxInt16) < ordered(int16(b[i&mr]), 15, math.MaxInt16)
		})
	case []float32:
		return lessFloats(bits32(a), bits32(r.data.([]float32)), unsigned32, l.konst, r.konst, n, 31, math.MaxInt32)
	case []float64:
		return lessFloats(bits64(a), bits64(r.data.([]float64)), unsigned64, l.konst, r.konst, n, 63, math.MaxInt64)
	case []decimal128.Num:
		b := r.data.([]decimal128.Num)
		return collect(n, func(i int) bool { return a[i&ml].Less(b[i&mr]) })
	case []decimal256.Num:
		b := r.data.([]decimal256.Num)
		return collect(n, func(i int) bool { return a[i&ml].Less(b[i&mr]) })
	case text:
		b := r.data.(text)
		return collect(n, func(i int) bool { return bytes.Compare(a.at(i&ml), b.at(i&mr)) < 0 })
	}
	return newBitset(n)
}

// equalBools compares 64 bools at a time.
func equalBools(l, r vec, n int) bitset {
	l, r = spread(l, n), spread(r, n)
	a, b := l.data.(bitset), r.data.(bitset)
	out := newBitset(n)
	for i := range out {
		out[i] = ^(a[i] ^ b[i])
	}
	out.clip(n)
	return out
}

// The loops below work on eight values at a time and collect their bits in a byte of a
// word. They are the innermost loops of most filters.

func equalSlices[T comparable](a, b []T, aKonst, bKonst bool, n int) bitset {
	switch {
	case aKonst && bKonst:
		return bitset{bit(a[0] == b[0])}
	case aKonst:
		return equalConst(b[:n], a[0])
	case bKonst:
		return equalConst(a[:n], b[0])
	}
	out := newBitset(n)
	a, b = a[:n], b[:n]
	i := 0
	for ; i+8 <= n; i += 8 {
		x, y := a[i:i+8:i+8], b[i:i+8:i+8]
		w := bit(x[0] == y[0]) | bit(x[1] == y[1])<<1 | bit(x[2] == y[2])<<2 | bit(x[3] == y[3])<<3 |
			bit(x[4] == y[4])<<4 | bit(x[5] == y[5])<<5 | bit(x[6] == y[6])<<6 | bit(x[7] == y[7])<<7
		out[i>>6] |= w << (i & 63)
	}
	for ; i < n; i++ {
		out[i>>6] |= bit(a[i] == b[i]) << (i & 63)
	}
	return out
}

func equalConst[T comparable](a []T, c T) bitset {
	out := newBitset(len(a))
	i := 0
	for ; i+8 <= len(a); i += 8 {
		x := a[i : i+8 : i+8]
		w := bit(x[0] == c) | bit(x[1] == c)<<1 | bit(x[2] == c)<<2 | bit(x[3] == c)<<3 |
			bit(x[4] == c)<<4 | bit(x[5] == c)<<5 | bit(x[6] == c)<<6 | bit(x[7] == c)<<7
		out[i>>6] |= w << (i & 63)
	}
	for ; i < len(a); i++ {
		out[i>>6] |= bit(a[i] == c) << (i & 63)
	}
	return out
}

func lessSlices[T cmp.Ordered](a, b []T, aKonst, bKonst bool, n int) bitset {
	switch {
	case aKonst && bKonst:
		return bitset{bit(a[0] < b[0])}
	case aKonst:
		return greaterConst(b[:n], a[0])
	case bKonst:
		return lessConst(a[:n], b[0])
	}
	out := newBitset(n)
	a, b = a[:n], b[:n]
	i := 0
	for ; i+8 <= n; i += 8 {
		x, y := a[i:i+8:i+8], b[i:i+8:i+8]
		w := bit(x[0] < y[0]) | bit(x[1] < y[1])<<1 | bit(x[2] < y[2])<<2 | bit(x[3] < y[3])<<3 |
			bit(x[4] < y[4])<<4 | bit(x[5] < y[5])<<5 | bit(x[6] < y[6])<<6 | bit(x[7] < y[7])<<7
		out[i>>6] |= w << (i & 63)
	}
	for ; i < n; i++ {
		out[i>>6] |= bit(a[i] < b[i]) << (i & 63)
	}
	return out
}

func lessConst[T cmp.Ordered](a []T, c T) bitset {
	out := newBitset(len(a))
	i := 0
	for ; i+8 <= len(a); i += 8 {
		x := a[i : i+8 : i+8]
		w := bit(x[0] < c) | bit(x[1] < c)<<1 | bit(x[2] < c)<<2 | bit(x[3] < c)<<3 |
			bit(x[4] < c)<<4 | bit(x[5] < c)<<5 | bit(x[6] < c)<<6 | bit(x[7] < c)<<7
		out[i>>6] |= w << (i & 63)
	}
	for ; i < len(a); i++ {
		out[i>>6] |= bit(a[i] < c) << (i & 63)
	}
	return out
}

func greaterConst[T cmp.Ordered](a []T, c T) bitset {
	out := newBitset(len(a))
	i := 0
	for ; i+8 <= len(a); i += 8 {
		x := a[i : i+8 : i+8]
		w := bit(c < x[0]) | bit(c < x[1])<<1 | bit(c < x[2])<<2 | bit(c < x[3])<<3 |
			bit(c < x[4])<<4 | bit(c < x[5])<<5 | bit(c < x[6])<<6 | bit(c < x[7])<<7
		out[i>>6] |= w << (i & 63)
	}
	for ; i < len(a); i++ {
		out[i>>6] |= bit(c < a[i]) << (i & 63)
	}
	return out
}

// lessFloats is lessSlices over the bits of floats. Against a constant it comes down to the
// order of integers: bits without sign are ordered like the floats as signed integers, also
// against the bits with sign, and bits with sign the other way around as unsigned ones.
func lessFloats[S int32 | int64, U uint32 | uint64](a, b []S, unsigned func([]S) []U, aKonst, bKonst bool, n, sign int, low S) bitset {
	switch {
	case aKonst && bKonst:
		return bitset{bit(ordered(a[0], sign, low) < ordered(b[0], sign, low))}
	case aKonst && a[0] >= 0:
		return greaterConst(b[:n], a[0])
	case aKonst:
		return lessConst(unsigned(b[:n]), U(a[0]))
	case bKonst && b[0] >= 0:
		return lessConst(a[:n], b[0])
	case bKonst:
		return greaterConst(unsigned(a[:n]), U(b[0]))
	}
	out := newBitset(n)
	a, b = a[:n], b[:n]
	i := 0
	for ; i+4 <= n; i += 4 {
		x, y := a[i:i+4:i+4], b[i:i+4:i+4]
		w := bit(ordered(x[0], sign, low) < ordered(y[0], sign, low)) |
			bit(ordered(x[1], sign, low) < ordered(y[1], sign, low))<<1 |
			bit(ordered(x[2], sign, low) < ordered(y[2], sign, low))<<2 |
			bit(ordered(x[3], sign, low) < ordered(y[3], sign, low))<<3
		out[i>>6] |= w << (i & 63)
	}
	for ; i < n; i++ {
		out[i>>6] |= bit(ordered(a[i], sign, low) < ordered(b[i], sign, low)) << (i & 63)
	}
	return out
}

func unsigned64(s []int64) []uint64 {
	return arrow.Uint64Traits.CastFromBytes(arrow.Int64Traits.CastToBytes(s))
}

func unsigned32(s []int32) []uint32 {
	return arrow.Uint32Traits.CastFromBytes(arrow.Int32Traits.CastToBytes(s))
}

// equalLists compares by keys.
func equalLists(l, r vec, n int) bitset {
	var a, b []byte
	return collect(n, func(i int) bool {
		if l.isNull(i) || r.isNull(i) {
			return false
		}
		a, b = l.appendKey(a[:0], l.at(i)), r.appendKey(b[:0], r.at(i))
		return bytes.Equal(a, b)
	})
}
