package encoding

import "unsafe"

// Bit-packed blocks hold 1024 integers of T bits (8, 16, 32 or 64) in W bits each, in
// the "unified transposed" order of the FastLanes layout. There are 1024/T lanes, and
// the T values of a lane follow each other W bits apart in every (1024/T)-th word:
//
//	word k of lane l is packed[k*lanes + l]
//	row r of lane l is bits [r*W, r*W+W) of the lane's words, low bits first
//	row r of lane l is value order[r/8]*16 + (r%8)*128 + l of the block
//
// so that neighbouring values lie in neighbouring words and one loop over the lanes
// unpacks a row. A block takes 1024*W/T words. Writers widen W to what the block needs.
//
// Source: crate lance-bitpacking, which quotes the FastLanes paper (Afroozeh, Boncz).

// packedValues is how many values a packed block holds.
const packedValues = 1024

// laneOrder is the order in which eight rows at a time are taken from a block.
var laneOrder = [8]int{0, 4, 2, 6, 1, 5, 3, 7}

// packable are the integers that are bit-packed. All are taken as unsigned.
type packable interface {
	uint8 | uint16 | uint32 | uint64
}

// packedWords is the size in words of T bits of a block of values of width bits.
func packedWords[T packable](width int) int {
	return packedValues / (8 * int(unsafe.Sizeof(T(0)))) * width
}

// unpackBlock unpacks a block of values of width bits, which is at most the width of T,
// from packedWords(width) words.
func unpackBlock[T packable](dst *[packedValues]T, packed []T, width int) {
	const sizeMask = 63
	bits := 8 * int(unsafe.Sizeof(T(0)))
	lanes := packedValues / bits
	if width == 0 {
		clear(dst[:])
		return
	}
	mask := ^T(0) >> (uint(bits-width) & sizeMask)
	for row := range bits {
		start := laneOrder[row>>3]*16 + row&7*128
		out := dst[start : start+lanes]
		word, shift := row*width/bits, row*width%bits
		low := packed[word*lanes:][:len(out)]
		if shift+width <= bits {
			unpackRow(out, low, uint(shift), mask)
		} else {
			high := packed[(word+1)*lanes:][:len(out)]
			unpackSplitRow(out, low, high, uint(shift), uint(bits-shift), mask)
		}
	}
}

// unpackRow unpacks a row whose values lie within one word each. The lanes are a
// multiple of 16 and eight are done at a time.
func unpackRow[T packable](out, low []T, shift uint, mask T) {
	shift &= 63
	for len(out) >= 8 && len(low) >= 8 {
		o, l := (*[8]T)(out), (*[8]T)(low)
		o[0] = l[0] >> shift & mask
		o[1] = l[1] >> shift & mask
		o[2] = l[2] >> shift & mask
		o[3] = l[3] >> shift & mask
		o[4] = l[4] >> shift & mask
		o[5] = l[5] >> shift & mask
		o[6] = l[6] >> shift & mask
		o[7] = l[7] >> shift & mask
		out, low = out[8:], low[8:]
	}
}

// unpackSplitRow unpacks a row whose values begin in one word and end in the next.
func unpackSplitRow[T packable](out, low, high []T, right, left uint, mask T) {
	right, left = right&63, left&63
	for len(out) >= 4 && len(low) >= 4 && len(high) >= 4 {
		o, l, h := (*[4]T)(out), (*[4]T)(low), (*[4]T)(high)
		o[0] = (l[0]>>right | h[0]<<left) & mask
		o[1] = (l[1]>>right | h[1]<<left) & mask
		o[2] = (l[2]>>right | h[2]<<left) & mask
		o[3] = (l[3]>>right | h[3]<<left) & mask
		out, low, high = out[4:], low[4:], high[4:]
	}
}
