package encoding

import (
	"tiltyard/shared/lance/pb"
)

// flatEncoder are fixed values as they lie in memory: Flat, with a FixedSizeList for each
// dimension.
//
//	a bitmap of the items for each dimension with null items, outermost first
//	the elements; booleans packed, low bits first
type flatEncoder struct {
	values *values
	pb     pb.Codec
}

func (f *flatEncoder) codec() pb.Codec { return f.pb }

func (f *flatEncoder) buffers() int {
	n := 1
	for depth := range f.values.shape.dims {
		if f.values.hasInvalid(depth) {
			n++
		}
	}
	return n
}

func (f *flatEncoder) fit(int) (int, bool) {
	width := f.values.shape.valueBits()
	items := 1
	for depth, dim := range f.values.shape.dims {
		items *= dim
		if f.values.hasInvalid(depth) {
			width += items
		}
	}
	return max(2, min(chunkValues, 8*chunkBytes/width)), false
}

func (f *flatEncoder) append(b []byte, from, to int, sizes []int) []byte {
	start := len(b)
	s := f.values.shape
	items := 1
	for depth, dim := range s.dims {
		items *= dim
		if f.values.hasInvalid(depth) {
			b, sizes[0] = appendBits(b, f.values.valid[depth].bytes, from*items, to*items)
			b = padTo8(b, start)
			sizes = sizes[1:]
		}
	}
	if s.bits == 1 {
		b, sizes[0] = appendBits(b, f.values.fixed, from*s.items, to*s.items)
	} else {
		size := s.valueBits() / 8
		b = append(b, f.values.fixed[from*size:to*size]...)
		sizes[0] = (to - from) * size
	}
	return padTo8(b, start)
}

// appendBits appends bits [from, to) of src as whole bytes and returns how many.
func appendBits(b, src []byte, from, to int) ([]byte, int) {
	n := (to - from + 7) / 8
	at := len(b)
	b = append(b, make([]byte, n)...)
	copyBits(b[at:], 0, src, from, to-from)
	return b, n
}
