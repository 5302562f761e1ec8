package codec

import (
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// A FixedValue decodes the value form of a codec: one value by itself, as full-zip pages
// store it. Values of fixed width:
//
//	Flat            its bytes; a boolean takes one
//	FixedSizeList   for each level with validity a bitmap of its items, in whole bytes,
//	                then the elements; these are left out when all of them are null
//	PackedStruct    the bytes of its members
type FixedValue struct {
	flat   int           // bytes of the value itself, without bitmaps
	lists  *listChunks   // for fixed-size lists
	packed *PackedStruct // for packed structs
}

// NewFixedValue returns the decoder of single values of a shape of fixed width.
func NewFixedValue(c pb.Codec, s *values.Shape) (*FixedValue, error) {
	switch c := c.(type) {
	case *pb.Flat:
		bits, err := flatBits(c)
		if err != nil {
			return nil, err
		}
		if s.Kind == values.Fixed && s.Dims == nil && (bits == s.Bits && bits%8 == 0 || bits == 8 && s.Bits == 1) {
			return &FixedValue{flat: bits / 8}, nil
		}
		return nil, lance.Corruptf("flat values of %d bits for another type", bits)
	case *pb.FixedSizeList:
		lists, err := parseLists(c, s)
		if err != nil {
			return nil, err
		}
		if lists.bits%8 != 0 {
			return nil, lance.Corruptf("list items of %d bits in single values", lists.bits)
		}
		return &FixedValue{flat: s.Items * lists.bits / 8, lists: lists}, nil
	case *pb.PackedStruct:
		packed, err := ParsePackedStruct(c, s)
		if err != nil {
			return nil, err
		}
		return &FixedValue{flat: packed.RowBytes, packed: packed}, nil
	}
	return nil, unsupportedCodec("single values", c)
}

// bitmapBytes is the size of the validity bitmaps before the elements of a value.
func (f *FixedValue) bitmapBytes() int {
	n := 0
	if f.lists != nil {
		for _, level := range f.lists.levels {
			if level.hasValidity {
				n += (level.items + 7) / 8
			}
		}
	}
	return n
}

// Size returns the bytes of a value.
func (f *FixedValue) Size() int { return f.bitmapBytes() + f.flat }

// IsRaw reports whether values are stored exactly as they are kept in memory.
func (f *FixedValue) IsRaw(s *values.Shape) bool {
	return f.packed == nil && f.bitmapBytes() == 0 && s.Bits != 1 && f.flat*8 == s.ValueBits()
}

// Decode appends n values to dst. The first begins at the start of src, and each value begins
// stride bytes after the one before; src may extend past the last value.
func (f *FixedValue) Decode(dst *values.Values, src []byte, n, stride int) error {
	size := f.Size()
	if n > 0 && (len(src) < size || (len(src)-size)/max(stride, 1) < n-1) {
		return lance.Corruptf("%d values of %d bytes in %d bytes", n, stride, len(src))
	}
	if f.IsRaw(dst.Shape) {
		f.copyRaw(dst.ExtendFixed(n), src, n, stride)
		return nil
	}
	for i := range n {
		if err := f.decodeOne(dst, src[i*stride:][:size]); err != nil {
			return err
		}
	}
	return nil
}

// copyRaw copies n values that lie stride bytes apart.
func (f *FixedValue) copyRaw(out, src []byte, n, stride int) {
	if stride == f.flat {
		copy(out, src)
		return
	}
	for i := range n {
		copy(out[i*f.flat:(i+1)*f.flat], src[i*stride:])
	}
}

// decodeOne decodes one value that is not stored as in memory: a packed struct, a bit, or a list
// with validity.
func (f *FixedValue) decodeOne(dst *values.Values, src []byte) error {
	switch {
	case f.packed != nil:
		return f.packed.Decode(dst, [][]byte{src}, 1)
	case f.lists == nil:
		return dst.AppendBooleans(src, 1)
	}
	bufs := make([][]byte, 0, len(f.lists.levels)+1)
	for _, level := range f.lists.levels {
		if level.hasValidity {
			size := (level.items + 7) / 8
			bufs = append(bufs, src[:size])
			src = src[size:]
		}
	}
	return f.lists.Decode(dst, append(bufs, src), 1)
}
