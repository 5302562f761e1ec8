package codec

import (
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// flatChunks holds values one after the other, as Arrow keeps them:
//
//	values of 1 bit: least significant bit first, 8 to a byte
//	other values:    bits/8 bytes each, little-endian
//
// The booleans true, false, true are the byte 05; the u16 1 and 2 are 01 00 02 00.
//
// flatChunks is both the chunk form of Flat and, for whole bytes, its value form.
type flatChunks struct {
	bits int
}

func newFlatChunks(c *pb.Flat, s *values.Shape) (ChunkDecoder, error) {
	bits, err := flatBits(c)
	if err != nil {
		return nil, err
	}
	if bits != 1 && bits%8 != 0 {
		return nil, lance.Corruptf("flat values of %d bits", bits)
	}
	return flatChunks{bits}, WantFixed(s, bits, "flat values")
}

func (flatChunks) Buffers() int { return 1 }

// Decode appends the bytes as they are.
func (f flatChunks) Decode(dst *values.Values, bufs [][]byte, n int) error {
	size := (n*f.bits + 7) / 8
	if len(bufs[0]) < size {
		return lance.Corruptf("%d flat values of %d bits in %d bytes", n, f.bits, len(bufs[0]))
	}
	dst.AppendFixed(bufs[0][:size], n)
	return nil
}

// flatEncoder encodes fixed values as they are in memory. The description is Flat, inside of a
// FixedSizeList for each dimension. The buffers are
//
//	a bitmap of the items for each dimension with null items, outermost first
//	the elements; booleans packed, low bits first
type flatEncoder struct {
	values      *values.Values
	description pb.Codec
}

// NewFlatEncoder returns the encoder of fixed values. codec is the description that FlatCodec
// returned for them, or a PackedStruct.
func NewFlatEncoder(v *values.Values, codec pb.Codec) ChunkEncoder {
	return &flatEncoder{values: v, description: codec}
}

func (f *flatEncoder) Codec() pb.Codec { return f.description }

func (f *flatEncoder) Buffers() int {
	n := 1
	for depth := range f.values.Shape.Dims {
		if f.values.HasInvalid(depth) {
			n++
		}
	}
	return n
}

// Fit limits a chunk to ChunkBytes, counting one validity bit per item of each dimension with
// nulls.
func (f *flatEncoder) Fit(int) (int, bool) {
	width := f.values.Shape.ValueBits()
	items := 1
	for depth, dim := range f.values.Shape.Dims {
		items *= dim
		if f.values.HasInvalid(depth) {
			width += items
		}
	}
	return max(2, min(ChunkValues, 8*ChunkBytes/width)), false
}

// Append writes the validity bitmaps of dimensions with nulls, then the values.
func (f *flatEncoder) Append(b []byte, from, to int, sizes []int) []byte {
	start := len(b)
	s := f.values.Shape
	items := 1
	for depth, dim := range s.Dims {
		items *= dim
		if f.values.HasInvalid(depth) {
			b, sizes[0] = appendBits(b, f.values.Valid[depth].Bytes, from*items, to*items)
			b = PadTo8(b, start)
			sizes = sizes[1:]
		}
	}
	if s.Bits == 1 {
		b, sizes[0] = appendBits(b, f.values.Fixed, from*s.Items, to*s.Items)
	} else {
		size := s.ValueBits() / 8
		b = append(b, f.values.Fixed[from*size:to*size]...)
		sizes[0] = (to - from) * size
	}
	return PadTo8(b, start)
}

// appendBits appends bits [from, to) of src as whole bytes and returns the number of bytes.
func appendBits(b, src []byte, from, to int) ([]byte, int) {
	n := (to - from + 7) / 8
	at := len(b)
	b = append(b, make([]byte, n)...)
	values.CopyBits(b[at:], 0, src, from, to-from)
	return b, n
}

// FlatCodec returns the description of values that are stored as they are. A boolean takes
// boolBits.
func FlatCodec(v *values.Values, boolBits uint64) pb.Codec {
	width := uint64(v.Shape.Bits)
	if width == 1 {
		width = boolBits
	}
	return ListCodec(v, &pb.Flat{BitsPerValue: width})
}

// ListCodec returns the description of values whose elements are stored by the given codec.
func ListCodec(v *values.Values, codec pb.Codec) pb.Codec {
	for depth := len(v.Shape.Dims) - 1; depth >= 0; depth-- {
		codec = &pb.FixedSizeList{
			ItemsPerValue: uint64(v.Shape.Dims[depth]),
			Values:        codec,
			HasValidity:   v.HasInvalid(depth),
		}
	}
	return codec
}
