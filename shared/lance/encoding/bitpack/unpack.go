// Package bitpack packs integers into as few bits as the widest of a block needs.
//
// Blocks hold 1024 integers of T bits (8, 16, 32 or 64) in W bits each, in the "unified
// transposed" order of the FastLanes layout. There are 1024/T lanes, and the T values of a lane
// follow each other W bits apart in every (1024/T)-th word:
//
//	word k of lane l is packed[k*lanes + l]
//	row r of lane l is bits [r*W, r*W+W) of the lane's words, low bits first
//	row r of lane l is value order[r/8]*16 + (r%8)*128 + l of the block
//
// so that neighbouring values lie in neighbouring words. A block takes 1024*W/T words.
// Writers widen W to what the block needs.
//
// Word k of all lanes is 128 bytes whatever T is, and so is a row of unpacked values.
// Both are taken here as 16 words of 64 bits, which hold several lanes side by side:
// a row is shifts and masks of one or two of them.
//
// Source: crate lance-bitpacking, which quotes the FastLanes paper (Afroozeh, Boncz).
package bitpack

import "unsafe"

// BlockValues is how many values a packed block holds.
const BlockValues = 1024

// laneOrder is the order in which eight rows at a time are taken from a block.
var laneOrder = [8]int{0, 4, 2, 6, 1, 5, 3, 7}

// An Integer is one of those that are packed. All are taken as unsigned.
type Integer interface {
	uint8 | uint16 | uint32 | uint64
}

// Words returns the size of a block of values of width bits, in words of the width of T.
func Words[T Integer](width int) int {
	return BlockValues / (8 * int(unsafe.Sizeof(T(0)))) * width
}

// rowBytes is the size of a word of every lane, and of a row of values.
const rowBytes = BlockValues / 8

// A laneRow is a word of every lane, or a row of values. It need not be aligned.
type laneRow [rowBytes / 8]uint64

func laneRowAt(b []byte, row int) *laneRow {
	return (*laneRow)(unsafe.Pointer((*[rowBytes]byte)(b[row*rowBytes:])))
}

// Unpack unpacks a block of values of width bits, which is at most the width of T,
// from Words(width) words.
func Unpack[T Integer](dst *[BlockValues]T, packed []T, width int) {
	if width == 0 {
		clear(dst[:])
		return
	}
	size := int(unsafe.Sizeof(T(0)))
	unpackRows(memory(dst[:]), memory(packed), 8*size, width)
}

// memory returns the bytes of v, which holds one value at least.
func memory[T Integer](v []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(v[0])))
}

// unpackRows unpacks all rows of a block of values of size bits from width bits.
func unpackRows(dst, packed []byte, size, width int) {
	ones := ^uint64(0) / (1<<size - 1) // a one in each lane
	for row := range size {
		first := laneOrder[row>>3]*16 + row&7*128
		out := (*laneRow)(unsafe.Pointer((*[rowBytes]byte)(dst[first*size/8:])))
		word, shift := row*width/size, row*width%size
		low := laneRowAt(packed, word)
		if here := size - shift; here < width {
			high := laneRowAt(packed, word+1)
			unpackSplitRow(out, low, high, uint(shift), ones*lowBits(here), uint(here), ones*lowBits(width-here))
		} else {
			unpackRow(out, low, uint(shift), ones*lowBits(width))
		}
	}
}

// lowBits returns a word whose n low bits are set.
func lowBits(n int) uint64 { return ^uint64(0) >> (uint(64-n) & 63) }

// unpackRow unpacks a row whose values lie within one word each. What the shift moves
// in from the next lane is masked away.
func unpackRow(out, in *laneRow, shift uint, mask uint64) {
	shift &= 63
	for i := range out {
		out[i] = in[i] >> shift & mask
	}
}

// unpackSplitRow unpacks a row whose values begin in one word and end in the next.
func unpackSplitRow(out, low, high *laneRow, right uint, lowMask uint64, left uint, highMask uint64) {
	right, left = right&63, left&63
	for i := range out {
		out[i] = low[i]>>right&lowMask | high[i]&highMask<<left
	}
}
