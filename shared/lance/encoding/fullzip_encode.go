package encoding

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
)

// A full-zip page stores values one after the other, each behind its levels:
//
//	fixed      [control] value          the value also of a null, but not of a list
//	                                    that is null or empty
//	variable   [control] length value   length: u32 or u64; a null is its control alone
//
// control is rep<<bits_def | def in 0, 1, 2 or 4 bytes, as few as hold it. Fixed values
// without levels are their plain memory, and the k-th one needs no search. A value of a
// fixed-size list with null items is a bitmap per dimension, then the items, unless all
// are null.
//
// For other pages a second buffer has the position of each row, and of the end, in the
// smallest unsigned integers that hold them.

// fullZip makes a full-zip page.
func (p *pageRows) fullZip() (Page, error) {
	if p.n > math.MaxUint32 {
		return Page{}, fmt.Errorf("%w: a page of %d items", lance.ErrUnsupported, p.n)
	}
	if p.packer != nil && p.values.shape.kind == shapeFixed {
		return Page{}, fmt.Errorf("%w: a row with more than %d null or empty lists of packed structs", lance.ErrUnsupported, p.chunkLevels)
	}
	z := zipper{pageRows: p, stored: p.values, bitsDef: bits.Len16(maxLevel(p.layers))}
	if len(p.rep) > 0 {
		z.bitsRep = bits.Len16(p.maxRep)
	}
	layout := &pb.FullZipLayout{
		BitsRep:         uint32(z.bitsRep),
		BitsDef:         uint32(z.bitsDef),
		NumItems:        uint32(p.n),
		NumVisibleItems: uint32(p.values.n),
		Layers:          p.layers,
	}
	if p.values.shape.kind == shapeVariable {
		layout.BitsPerOffset = uint32(p.offsetBits)
		var err error
		if z.stored, layout.ValueCompression, err = p.chooseZipCodec(); err != nil {
			return Page{}, err
		}
	} else {
		layout.BitsPerValue = uint32(8 * z.fixedBytes())
		layout.ValueCompression = p.values.flatCodec(8)
		if p.values.noItems() {
			layout.ValueCompression = p.values.listCodec(&pb.Constant{})
		}
		if z.isPlain() {
			return newPage(layout, p.n, p.values.fixed), nil
		}
	}
	z.zip()
	if len(z.rows) == 0 {
		return newPage(layout, p.n, z.data), nil
	}
	return newPage(layout, len(z.rows), z.data, narrow(append(z.rows, len(z.data)))), nil
}

// maxLevel returns the highest definition level of these layers.
func maxLevel(layers []pb.RepDefLayer) uint16 {
	level := uint16(0)
	for _, l := range layers {
		switch l {
		case pb.NullableItem, pb.NullableList, pb.EmptyableList:
			level++
		case pb.NullAndEmptyList:
			level += 2
		}
	}
	return level
}

// A zipper interleaves levels and values.
type zipper struct {
	*pageRows
	stored           *values // the page's values, compressed if they are
	bitsRep, bitsDef int
	data             []byte
	rows             []int // positions of rows, when the layout needs them
}

// isPlain reports whether the page is nothing but the memory of its values.
func (z *zipper) isPlain() bool {
	v := z.values
	return z.bitsRep == 0 && z.bitsDef == 0 && v.shape.kind == shapeFixed && v.shape.bits != 1 && v.valid == nil
}

// fixedBytes is the size of a stored fixed value, bitmaps included.
func (z *zipper) fixedBytes() int {
	s := z.values.shape
	size := 0
	if z.values.valid != nil {
		items := 1
		for depth, dim := range s.dims {
			items *= dim
			if z.values.hasInvalid(depth) {
				size += (items + 7) / 8
			}
		}
	}
	switch {
	case z.values.noItems():
		return size
	case s.bits == 1:
		return size + s.items
	}
	return size + s.valueBits()/8
}

func (z *zipper) zip() {
	v := z.stored
	control := controlBytes(z.bitsRep + z.bitsDef)
	perValue := 4
	if v.shape.kind == shapeFixed {
		perValue = z.fixedBytes()
	}
	z.data = make([]byte, 0, control*z.n+perValue*v.n+len(v.data))
	needRows := v.shape.kind == shapeVariable || z.bitsRep > 0
	value := 0
	for e := range z.n {
		var rep, def uint16
		if z.bitsRep > 0 {
			rep = z.rep[e]
		}
		if z.bitsDef > 0 {
			def = z.def[e]
		}
		if needRows && rep == z.maxRep {
			z.rows = append(z.rows, len(z.data))
		}
		z.data = appendWord(z.data, uint64(rep)<<z.bitsDef|uint64(def), control)
		if def > z.visible {
			continue
		}
		if v.shape.kind == shapeFixed {
			z.appendFixed(value)
		} else if def == 0 {
			b := v.bytes(value)
			z.data = appendWord(z.data, uint64(len(b)), int(z.offsetBits/8))
			z.data = append(z.data, b...)
		}
		value++
	}
}

func controlBytes(bits int) int {
	switch {
	case bits == 0:
		return 0
	case bits <= 8:
		return 1
	case bits <= 16:
		return 2
	}
	return 4
}

// appendFixed appends the value with the bitmaps of its items. Booleans take a byte.
func (z *zipper) appendFixed(i int) {
	v := z.values
	if v.valid != nil {
		items := 1
		for depth, dim := range v.shape.dims {
			items *= dim
			if v.hasInvalid(depth) {
				at := len(z.data)
				z.data = append(z.data, make([]byte, (items+7)/8)...)
				copyBits(z.data[at:], 0, v.valid[depth].bytes, i*items, items)
			}
		}
	}
	switch {
	case v.noItems():
		return
	case v.shape.bits != 1:
		z.data = append(z.data, v.bytes(i)...)
		return
	}
	for k := range v.shape.items {
		z.data = append(z.data, 0)
		if bitutil.BitIsSet(v.fixed, i*v.shape.items+k) {
			z.data[len(z.data)-1] = 1
		}
	}
}

// hasInvalid reports whether an item at this depth of fixed-size lists is null.
func (v *values) hasInvalid(depth int) bool { return v.valid != nil && v.valid[depth].zeros > 0 }

// noItems reports whether all elements of vectors are null.
func (v *values) noItems() bool {
	return len(v.shape.dims) == 1 && v.valid != nil && v.valid[0].zeros == v.n*v.shape.items
}

// flatCodec describes the values as they are, with booleans of the given width.
func (v *values) flatCodec(boolBits uint64) pb.Codec {
	width := uint64(v.shape.bits)
	if width == 1 {
		width = boolBits
	}
	return v.listCodec(&pb.Flat{BitsPerValue: width})
}

// listCodec describes values whose elements are in the given codec.
func (v *values) listCodec(codec pb.Codec) pb.Codec {
	for depth := len(v.shape.dims) - 1; depth >= 0; depth-- {
		codec = &pb.FixedSizeList{
			ItemsPerValue: uint64(v.shape.dims[depth]),
			Values:        codec,
			HasValidity:   v.hasInvalid(depth),
		}
	}
	return codec
}

// appendWord appends the low bytes of v.
func appendWord(b []byte, v uint64, size int) []byte {
	switch size {
	case 0:
		return b
	case 1:
		return append(b, byte(v))
	case 2:
		return binary.LittleEndian.AppendUint16(b, uint16(v))
	case 4:
		return binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return binary.LittleEndian.AppendUint64(b, v)
}

// narrow encodes ascending positions in the smallest integers that hold the last.
func narrow(positions []int) []byte {
	last := uint64(positions[len(positions)-1])
	size := 8
	switch {
	case last <= math.MaxUint8:
		size = 1
	case last <= math.MaxUint16:
		size = 2
	case last <= math.MaxUint32:
		size = 4
	}
	b := make([]byte, 0, size*len(positions))
	for _, p := range positions {
		b = appendWord(b, uint64(p), size)
	}
	return b
}
