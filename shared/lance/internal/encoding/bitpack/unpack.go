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
// Neighbouring values lie in neighbouring words, so that one shift and one mask unpack many of them
// at once. A block takes 1024*W/T words. Writers round W up to the bits of the largest value of the
// block.
//
// For example, 1024 integers of T = 32 bits below 8 take W = 3 bits each, 384 bytes instead of
// 4096. There are 32 lanes of 3 words:
//
//	value   0   row  0 of lane 0   bits 0-2 of packed[0]
//	value   1   row  0 of lane 1   bits 0-2 of packed[1]
//	value 128   row  1 of lane 0   bits 3-5 of packed[0]
//	value  32   row 16 of lane 0   bits 48-50 of the lane: bits 16-18 of packed[32]
//
// Word k of all lanes is 128 bytes for every T, and so is a row of unpacked values. The code
// handles both as 16 words of 64 bits, each of which holds several adjacent lanes: unpacking a
// row shifts and masks one or two such rows of words.
//
// Source: crate lance-bitpacking, which quotes the FastLanes paper (Afroozeh, Boncz).
package bitpack

import "unsafe"

// BlockValues is the number of values in a packed block.
const BlockValues = 1024

// laneOrder is the order in which groups of eight rows are taken from a block.
var laneOrder = [8]int{0, 4, 2, 6, 1, 5, 3, 7}

// An Integer is a type of integers that can be packed; signed integers are packed as unsigned ones.
type Integer interface {
	uint8 | uint16 | uint32 | uint64
}

// Words returns the size of a block of values of width bits, in words of the width of T.
func Words[T Integer](width int) int {
	return BlockValues / (8 * int(unsafe.Sizeof(T(0)))) * width
}

// rowBytes is the size of one word of every lane, and also of a row of values.
const rowBytes = BlockValues / 8

// A laneRow is one word of every lane, or a row of values. It need not be aligned.
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

// unpackRow unpacks a row whose values lie within one word each. The mask removes the bits that the
// shift moves in from the next lane.
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
