package sqlexpr

import (
	"encoding/binary"
	"math/bits"
)

// A bitset holds one bit per row, the first row in the lowest bit of the first word.
// Bits past the last row are zero. As a set of rows that count, nil means all of them.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

// fullBitset has the first n bits set.
func fullBitset(n int) bitset {
	b := newBitset(n)
	for i := range b {
		b[i] = ^uint64(0)
	}
	b.clip(n)
	return b
}

// clip clears the bits past the first n.
func (b bitset) clip(n int) {
	if n%64 != 0 {
		b[len(b)-1] &= 1<<(n%64) - 1
	}
}

func (b bitset) has(i int) bool { return b[i>>6]>>(i&63)&1 != 0 }

func (b bitset) set(i int) { b[i>>6] |= 1 << (i & 63) }

func (b bitset) clear(i int) { b[i>>6] &^= 1 << (i & 63) }

func (b bitset) count() int {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

func (b bitset) empty() bool {
	for _, w := range b {
		if w != 0 {
			return false
		}
	}
	return true
}

// invert returns the complement among the first n bits.
func (b bitset) invert(n int) bitset {
	out := make(bitset, len(b))
	for i, w := range b {
		out[i] = ^w
	}
	out.clip(n)
	return out
}

// and intersects two sets of rows, of which nil is all.
func and(a, b bitset) bitset {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	out := make(bitset, len(a))
	for i, w := range a {
		out[i] = w & b[i]
	}
	return out
}

// each calls f for the rows of the set among the first n, in order, until f is false.
func (b bitset) each(n int, f func(i int) bool) {
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

// bitsetOf copies n bits of an Arrow bitmap that begin at the bit offset.
func bitsetOf(bitmap []byte, offset, n int) bitset {
	out := newBitset(n)
	bitmap = bitmap[offset>>3:]
	shift := uint(offset & 7)
	for i := range out {
		out[i] = wordAt(bitmap, i*8, shift)
	}
	if n > 0 {
		out.clip(n)
	}
	return out
}

// slice copies n bits from one on.
func (b bitset) slice(from, n int) bitset {
	out := make(bitset, (n+63)/64)
	word, shift := from>>6, uint(from&63)
	for i := range out {
		out[i] = b[word+i] >> shift
		if shift > 0 && word+i+1 < len(b) {
			out[i] |= b[word+i+1] << (64 - shift)
		}
	}
	out.clip(n)
	return out
}

// wordAt reads 64 bits from a byte and a bit offset, and zeros past the end.
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
func (b bitset) bytes() []byte {
	out := make([]byte, len(b)*8)
	for i, w := range b {
		binary.LittleEndian.PutUint64(out[i*8:], w)
	}
	return out
}

// collect sets the bits for which f is true.
func collect(n int, f func(i int) bool) bitset {
	out := newBitset(n)
	for i := range n {
		if f(i) {
			out[i>>6] |= 1 << (i & 63)
		}
	}
	return out
}

// bit is 1 for true, without a branch.
func bit(b bool) uint64 {
	var x uint64
	if b {
		x = 1
	}
	return x
}

func or(a, b bitset) bitset {
	out := make(bitset, len(a))
	for i, w := range a {
		out[i] = w | b[i]
	}
	return out
}
