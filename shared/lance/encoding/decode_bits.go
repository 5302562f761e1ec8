package encoding

import (
	"math/bits"
	"slices"
	"unsafe"

	"tiltyard/shared/lance/encoding/bitpack"
)

// A bitmap is a run of bits, least significant first, as Arrow keeps validity: 1 is
// valid. While no bit is 0 it holds no bytes.
type bitmap struct {
	n     int // bits
	zeros int
	bytes []byte // nil while zeros is 0
}

// materialize gives the bitmap its bytes, with room for extra more bits.
func (b *bitmap) materialize(extra int) {
	size := (b.n + extra + 7) / 8
	if b.bytes == nil {
		b.bytes = make([]byte, size, max(size, 64))
		setBits(b.bytes, 0, b.n)
		return
	}
	if old := len(b.bytes); old < size {
		b.bytes = slices.Grow(b.bytes, size-old)[:size]
		clear(b.bytes[old:])
	}
}

// appendOnes appends n one bits.
func (b *bitmap) appendOnes(n int) {
	if b.bytes != nil {
		b.materialize(n)
		setBits(b.bytes, b.n, b.n+n)
	}
	b.n += n
}

// appendZeros appends n zero bits.
func (b *bitmap) appendZeros(n int) {
	if n > 0 {
		b.materialize(n)
		b.n += n
		b.zeros += n
	}
}

// appendBit appends one bit.
func (b *bitmap) appendBit(one bool) {
	if one {
		b.appendOnes(1)
	} else {
		b.appendZeros(1)
	}
}

// appendBelow appends one bit per level: 1 where it is below limit.
func (b *bitmap) appendBelow(levels []uint16, limit uint16) {
	first := slices.IndexFunc(levels, func(l uint16) bool { return l >= limit })
	if first < 0 {
		b.appendOnes(len(levels))
		return
	}
	b.appendOnes(first)
	levels = levels[first:]
	b.materialize(len(levels))
	ones := 0
	at := b.n
	for _, l := range levels {
		// The sign bit of l-limit is set exactly when l < limit.
		bit := uint8((int32(l) - int32(limit)) >> 31 & 1)
		b.bytes[at>>3] |= bit << (at & 7)
		ones += int(bit)
		at++
	}
	b.n = at
	b.zeros += len(levels) - ones
}

// appendBits appends bits [from, to) of src.
func (b *bitmap) appendBits(src []byte, from, to int) {
	n := to - from
	ones := countBits(src, from, to)
	if ones == n {
		b.appendOnes(n)
		return
	}
	b.materialize(n)
	copyBits(b.bytes, b.n, src, from, n)
	b.n += n
	b.zeros += n - ones
}

// setBits sets bits [from, to).
func setBits(b []byte, from, to int) {
	for ; from < to && from&7 != 0; from++ {
		b[from>>3] |= 1 << (from & 7)
	}
	for ; from+8 <= to; from += 8 {
		b[from>>3] = 0xff
	}
	for ; from < to; from++ {
		b[from>>3] |= 1 << (from & 7)
	}
}

// copyBits copies n bits from bit srcAt of src to bit dstAt of dst, where they are 0.
func copyBits(dst []byte, dstAt int, src []byte, srcAt, n int) {
	if dstAt&7 == 0 && srcAt&7 == 0 {
		copy(dst[dstAt>>3:], src[srcAt>>3:(srcAt+n)>>3])
		done := n &^ 7
		dstAt, srcAt, n = dstAt+done, srcAt+done, n-done
	}
	for i := range n {
		dst[(dstAt+i)>>3] |= src[(srcAt+i)>>3] >> ((srcAt + i) & 7) & 1 << ((dstAt + i) & 7)
	}
}

// countBits counts the ones among bits [from, to).
func countBits(b []byte, from, to int) int {
	ones := 0
	for ; from < to && from&7 != 0; from++ {
		ones += int(b[from>>3] >> (from & 7) & 1)
	}
	for ; from+8 <= to; from += 8 {
		ones += bits.OnesCount8(b[from>>3])
	}
	for ; from < to; from++ {
		ones += int(b[from>>3] >> (from & 7) & 1)
	}
	return ones
}

// reserve returns b with room for at least n more bytes. What it allocates is aligned
// for every fixed-width type.
func reserve(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	grown := alignedBytes(max(len(b)+n, 2*cap(b)))[:len(b)]
	copy(grown, b)
	return grown
}

// alignedBytes allocates n bytes at a multiple of 8.
func alignedBytes(n int) []byte {
	if n == 0 {
		return []byte{}
	}
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), n)
}

// isAligned reports whether b begins at a multiple of size, a power of two.
func isAligned(b []byte, size int) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))&uintptr(size-1) == 0
}

// viewAs returns b as values of type T, little-endian like the machines that this
// package supports: the same memory, or a copy when b is not aligned for T. Bytes that
// do not fill a value are left out.
func viewAs[T bitpack.Integer | int32 | int64](b []byte) []T {
	size := int(unsafe.Sizeof(T(0)))
	n := len(b) / size
	if n == 0 {
		return nil
	}
	if !isAligned(b, size) {
		b = append(alignedBytes(n * size)[:0], b[:n*size]...)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// bytesOf returns the memory of v.
func bytesOf[T bitpack.Integer | int32 | int64](v []T) []byte {
	if len(v) == 0 {
		return []byte{}
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(v[0])))
}
