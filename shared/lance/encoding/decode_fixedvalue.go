package encoding

import "tiltyard/shared/lance/pb"

// The value form of a codec is one value by itself, as full-zip pages store it. Values
// of fixed width:
//
//	Flat            its bytes; a boolean takes one
//	FixedSizeList   for each level with validity a bitmap of its items, in whole bytes,
//	                then the elements; these are left out when all of them are null
//	PackedStruct    the bytes of its members
type fixedValue struct {
	flat   int           // bytes of the value itself, without bitmaps
	lists  *listChunks   // for fixed-size lists
	packed *packedChunks // for packed structs
}

func newFixedValue(c pb.Codec, s *shape) (*fixedValue, error) {
	switch c := c.(type) {
	case *pb.Flat:
		bits, err := flatBits(c)
		if err != nil {
			return nil, err
		}
		if s.kind == shapeFixed && s.dims == nil && (bits == s.bits && bits%8 == 0 || bits == 8 && s.bits == 1) {
			return &fixedValue{flat: bits / 8}, nil
		}
		return nil, corruptf("flat values of %d bits for another type", bits)
	case *pb.FixedSizeList:
		lists, err := parseLists(c, s)
		if err != nil {
			return nil, err
		}
		if lists.bits%8 != 0 {
			return nil, corruptf("list items of %d bits in single values", lists.bits)
		}
		return &fixedValue{flat: s.items * lists.bits / 8, lists: lists}, nil
	case *pb.PackedStruct:
		packed, err := parsePacked(c, s)
		if err != nil {
			return nil, err
		}
		return &fixedValue{flat: packed.row, packed: packed}, nil
	}
	return nil, unsupportedCodec("single values", c)
}

// bitmapBytes is the size of the bitmaps before the elements of a value.
func (f *fixedValue) bitmapBytes() int {
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

// size is how many bytes a value takes.
func (f *fixedValue) size() int { return f.bitmapBytes() + f.flat }

// isRaw reports whether values lie in a page as they lie in memory.
func (f *fixedValue) isRaw(s *shape) bool {
	return f.packed == nil && f.bitmapBytes() == 0 && s.bits != 1 && f.flat*8 == s.valueBits()
}

// decode appends n values to dst. The first begins at the start of src, the others
// follow stride bytes apart; src ends with or after the last.
func (f *fixedValue) decode(dst *values, src []byte, n, stride int) error {
	size := f.size()
	if n > 0 && (len(src) < size || (len(src)-size)/max(stride, 1) < n-1) {
		return corruptf("%d values of %d bytes in %d bytes", n, stride, len(src))
	}
	if f.isRaw(dst.shape) {
		f.copyRaw(dst.extendFixed(n), src, n, stride)
		return nil
	}
	for i := range n {
		if err := f.decodeOne(dst, src[i*stride:][:size]); err != nil {
			return err
		}
	}
	return nil
}

func (f *fixedValue) copyRaw(out, src []byte, n, stride int) {
	if stride == f.flat {
		copy(out, src)
		return
	}
	for i := range n {
		copy(out[i*f.flat:(i+1)*f.flat], src[i*stride:])
	}
}

func (f *fixedValue) decodeOne(dst *values, src []byte) error {
	switch {
	case f.packed != nil:
		return f.packed.decode(dst, [][]byte{src}, 1)
	case f.lists == nil:
		return dst.appendWideBits(src, 1)
	}
	bufs := make([][]byte, 0, len(f.lists.levels)+1)
	for _, level := range f.lists.levels {
		if level.hasValidity {
			size := (level.items + 7) / 8
			bufs = append(bufs, src[:size])
			src = src[size:]
		}
	}
	return f.lists.decode(dst, append(bufs, src), 1)
}
