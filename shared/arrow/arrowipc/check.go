package arrowipc

import (
	"encoding/binary"
	"unicode/utf8"
)

type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

type offset interface{ int32 | int64 }

// checkOffsets returns the last offset, and the position of the first one that is negative or less than its
// predecessor, or -1.
func checkOffsets[T offset](offsets []T) (last int64, bad int) {
	previous := T(0)
	for i, o := range offsets {
		if o < previous {
			return 0, i
		}
		previous = o
	}
	return int64(previous), -1
}

// findOutside returns the position of the first value from a position on that is not in
// [0, n), or -1.
func findOutside[T integer](values []T, from int, n uint64) int {
	for i := from; i < len(values); i++ {
		if uint64(values[i]) >= n { // a negative value becomes a huge one
			return i
		}
	}
	return -1
}

// findInvalid returns the position of the first string from a position on that is not
// valid UTF-8, or -1.
func findInvalid[T offset](data []byte, offsets []T, from int) int {
	for i := from; i < len(offsets)-1; i++ {
		if !utf8.Valid(data[offsets[i]:offsets[i+1]]) {
			return i
		}
	}
	return -1
}

// wholeUTF8 reports whether the strings are valid UTF-8, judged as one text whose cuts all lie between
// characters. That is much faster than checking each string. The offsets ascend and end within data.
func wholeUTF8[T offset](data []byte, offsets []T) bool {
	data = data[:offsets[len(offsets)-1]]
	text := data[offsets[0]:]
	if isASCII(text) {
		return true
	}
	if !utf8.Valid(text) {
		return false
	}
	for _, o := range offsets {
		if int(o) < len(data) && !utf8.RuneStart(data[o]) {
			return false
		}
	}
	return true
}

// isASCII tests 32 bytes at a time for a set high bit.
func isASCII(b []byte) bool {
	const high = 0x8080808080808080
	for len(b) >= 32 {
		w := binary.LittleEndian.Uint64(b) | binary.LittleEndian.Uint64(b[8:]) |
			binary.LittleEndian.Uint64(b[16:]) | binary.LittleEndian.Uint64(b[24:])
		if w&high != 0 {
			return false
		}
		b = b[32:]
	}
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
