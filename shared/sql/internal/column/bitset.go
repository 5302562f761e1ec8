package column

import (
	"encoding/binary"
	"math/bits"
)

// A Bitset holds one bit per row, the first row in the lowest bit of the first word. Bits
// past the last row are zero. Where a Bitset selects rows, nil means all of them.
type Bitset []uint64

// NewBitset returns an empty set for n rows.
func NewBitset(n int) Bitset { return make(Bitset, (n+63)/64) }

// FullBitset returns a set of all n rows.
func FullBitset(n int) Bitset {
	b := NewBitset(n)
	for i := range b {
		b[i] = ^uint64(0)
	}
	b.Clip(n)
	return b
}

// Clip clears the bits past the first n.
func (b Bitset) Clip(n int) {
	if n%64 != 0 {
		b[len(b)-1] &= 1<<(n%64) - 1
	}
}

// Has reports whether a row is in the set.
func (b Bitset) Has(i int) bool { return b[i>>6]>>(i&63)&1 != 0 }

// Set puts a row into the set.
func (b Bitset) Set(i int) { b[i>>6] |= 1 << (i & 63) }

// Clear removes a row from the set.
func (b Bitset) Clear(i int) { b[i>>6] &^= 1 << (i & 63) }

// Count returns the number of rows in the set.
func (b Bitset) Count() int {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// Empty reports whether no row is in the set.
func (b Bitset) Empty() bool {
	for _, w := range b {
		if w != 0 {
			return false
		}
	}
	return true
}

// Invert returns the complement among the first n bits.
func (b Bitset) Invert(n int) Bitset {
	out := make(Bitset, len(b))
	for i, w := range b {
		out[i] = ^w
	}
	out.Clip(n)
	return out
}

// And returns the intersection of two sets; nil is the set of all rows.
func And(a, b Bitset) Bitset {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	out := make(Bitset, len(a))
	for i, w := range a {
		out[i] = w & b[i]
	}
	return out
}

// Each calls f for the rows in the set among the first n, in order, until f returns false.
func (b Bitset) Each(n int, f func(i int) bool) {
	if b == nil {
		for i := range n {
			if !f(i) {
				return
			}
		}
		return
	}
	for w, word := range b {
		for ; word != 0; word &= word - 1 {
			if !f(w<<6 + bits.TrailingZeros64(word)) {
				return
			}
		}
	}
}

// bitsetOf copies n bits of an Arrow bitmap, from the bit offset on.
func bitsetOf(bitmap []byte, offset, n int) Bitset {
	out := NewBitset(n)
	bitmap = bitmap[offset>>3:]
	shift := uint(offset & 7)
	for i := range out {
		out[i] = wordAt(bitmap, i*8, shift)
	}
	if n > 0 {
		out.Clip(n)
	}
	return out
}

// Slice copies n bits, from bit from on.
func (b Bitset) Slice(from, n int) Bitset {
	out := make(Bitset, (n+63)/64)
	word, shift := from>>6, uint(from&63)
	for i := range out {
		out[i] = b[word+i] >> shift
		if shift > 0 && word+i+1 < len(b) {
			out[i] |= b[word+i+1] << (64 - shift)
		}
	}
	out.Clip(n)
	return out
}

// wordAt reads 64 bits from a byte and bit offset; bits past the end are zero.
func wordAt(b []byte, at int, shift uint) uint64 {
	if at+9 <= len(b) {
		return binary.LittleEndian.Uint64(b[at:])>>shift | uint64(b[at+8])<<(64-shift)
	}
	var buf [9]byte
	if at < len(b) {
		copy(buf[:], b[at:])
	}
	return binary.LittleEndian.Uint64(buf[:])>>shift | uint64(buf[8])<<(64-shift)
}

// bytes returns the set as an Arrow bitmap.
func (b Bitset) bytes() []byte {
	out := make([]byte, len(b)*8)
	for i, w := range b {
		binary.LittleEndian.PutUint64(out[i*8:], w)
	}
	return out
}

// Collect returns the set of the rows for which f is true.
func Collect(n int, f func(i int) bool) Bitset {
	out := NewBitset(n)
	for i := range n {
		if f(i) {
			out[i>>6] |= 1 << (i & 63)
		}
	}
	return out
}

// Bit returns 1 for true and 0 for false, without a branch.
func Bit(b bool) uint64 {
	var x uint64
	if b {
		x = 1
	}
	return x
}

// Or returns the union of two sets, which must not be nil.
func Or(a, b Bitset) Bitset {
	out := make(Bitset, len(a))
	for i, w := range a {
		out[i] = w | b[i]
	}
	return out
}
