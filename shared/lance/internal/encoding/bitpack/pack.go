package bitpack

import (
	"math/bits"
	"unsafe"
)

// Pack packs 1024 values, none wider than width bits, into Words(width) words
// of out. It is the inverse of Unpack.
func Pack[T Integer](out []T, values *[BlockValues]T, width int) {
	size := 8 * int(unsafe.Sizeof(T(0)))
	lanes := BlockValues / size
	clear(out[:lanes*width])
	if width == 0 {
		return
	}
	for row := range size {
		first := laneOrder[row>>3]*16 + row&7*128
		in := values[first : first+lanes]
		word, shift := row*width/size, row*width%size
		packRow(out[word*lanes:], in, uint(shift))
		if shift+width > size {
			packCarry(out[(word+1)*lanes:], in, uint(size-shift))
		}
	}
}

// packRow adds the low bits of a row of values to the words that they begin in.
func packRow[T Integer](out, in []T, left uint) {
	left &= 63
	for len(in) >= 8 && len(out) >= 8 {
		o, v := (*[8]T)(out), (*[8]T)(in)
		o[0] |= v[0] << left
		o[1] |= v[1] << left
		o[2] |= v[2] << left
		o[3] |= v[3] << left
		o[4] |= v[4] << left
		o[5] |= v[5] << left
		o[6] |= v[6] << left
		o[7] |= v[7] << left
		out, in = out[8:], in[8:]
	}
}

// packCarry adds the remaining bits of a row to the next words.
func packCarry[T Integer](out, in []T, right uint) {
	right &= 63
	for len(in) >= 4 && len(out) >= 4 {
		o, v := (*[4]T)(out), (*[4]T)(in)
		o[0] |= v[0] >> right
		o[1] |= v[1] >> right
		o[2] |= v[2] >> right
		o[3] |= v[3] >> right
		out, in = out[4:], in[4:]
	}
}

// Width returns the bits needed by the widest value.
func Width[T Integer](values []T) int {
	var all T
	for _, v := range values {
		all |= v
	}
	return bits.Len64(uint64(all))
}
