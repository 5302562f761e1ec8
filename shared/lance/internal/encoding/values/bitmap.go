package values

import (
	"math/bits"
	"slices"
)

// A Bitmap is a run of bits, least significant first, as Arrow keeps validity: 1 means valid.
// Valid, null, valid is the byte 05. While no bit is 0 the bitmap allocates no bytes.
type Bitmap struct {
	N     int // bits
	Zeros int
	Bytes []byte // nil while zeros is 0
}

// AppendOnes appends n one bits.
func (b *Bitmap) AppendOnes(n int) {
	if b.Bytes != nil {
		b.materialize(n)
		setBits(b.Bytes, b.N, b.N+n)
	}
	b.N += n
}

// AppendZeros appends n zero bits.
func (b *Bitmap) AppendZeros(n int) {
	if n > 0 {
		b.materialize(n)
		b.N += n
		b.Zeros += n
	}
}

// AppendBit appends one bit.
func (b *Bitmap) AppendBit(one bool) {
	if one {
		b.AppendOnes(1)
	} else {
		b.AppendZeros(1)
	}
}

// AppendBelow appends one bit per level: 1 if the level is below limit.
func (b *Bitmap) AppendBelow(levels []uint16, limit uint16) {
	first := slices.IndexFunc(levels, func(l uint16) bool { return l >= limit })
	if first < 0 {
		b.AppendOnes(len(levels))
		return
	}
	b.AppendOnes(first)
	levels = levels[first:]
	b.materialize(len(levels))
	ones := 0
	at := b.N
	for _, l := range levels {
		// The sign bit of l-limit is set exactly when l < limit.
		bit := uint8((int32(l) - int32(limit)) >> 31 & 1)
		b.Bytes[at>>3] |= bit << (at & 7)
		ones += int(bit)
		at++
	}
	b.N = at
	b.Zeros += len(levels) - ones
}

// AppendBits appends bits [from, to) of src.
func (b *Bitmap) AppendBits(src []byte, from, to int) {
	n := to - from
	ones := countBits(src, from, to)
	if ones == n {
		b.AppendOnes(n)
		return
	}
	b.materialize(n)
	CopyBits(b.Bytes, b.N, src, from, n)
	b.N += n
	b.Zeros += n - ones
}

// AppendBitmap appends the bits of another bitmap.
func (b *Bitmap) AppendBitmap(other *Bitmap) {
	if other.Bytes == nil {
		b.AppendOnes(other.N)
		return
	}
	b.AppendBits(other.Bytes, 0, other.N)
}

// materialize allocates the bytes of the bitmap, with room for extra more bits.
func (b *Bitmap) materialize(extra int) {
	size := (b.N + extra + 7) / 8
	if b.Bytes == nil {
		b.Bytes = make([]byte, size, max(size, 64))
		setBits(b.Bytes, 0, b.N)
		return
	}
	if old := len(b.Bytes); old < size {
		b.Bytes = slices.Grow(b.Bytes, size-old)[:size]
		clear(b.Bytes[old:])
	}
}

// setBits sets bits [from, to) to 1.
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

// CopyBits copies n bits from bit srcAt of src to bit dstAt of dst. The bits of dst must be 0
// before.
func CopyBits(dst []byte, dstAt int, src []byte, srcAt, n int) {
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
