package write

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/internal/encoding/codec"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// A full-zip page stores values one after the other, each after its levels:
//
//	fixed      [control] value          the value also of a null, but not of a list
//	                                    that is null or empty
//	variable   [control] length value   length: u32 or u64; a null is its control alone
//
// control is rep<<bits_def | def in 0, 1, 2 or 4 bytes, the fewest that hold it. Fixed values
// without levels are stored as they are in memory, and a reader computes the position of a value. A
// value of a fixed-size list with null items is a bitmap per dimension, then the items, unless all
// are null.
//
// In other pages a second buffer holds the position of each row and of the end, in the narrowest
// unsigned integers that hold them. Package read, fullzip.go, shows the bytes of a page.

// fullZip makes a full-zip page.
func (p *pageRows) fullZip() (encoding.Page, error) {
	if p.n > math.MaxUint32 {
		return encoding.Page{}, fmt.Errorf("%w: a page of %d items", lance.ErrUnsupported, p.n)
	}
	if p.packer != nil && p.values.Shape.Kind == values.Fixed {
		return encoding.Page{}, fmt.Errorf("%w: a row with more than %d null or empty lists of packed structs", lance.ErrUnsupported, p.chunkLevels)
	}
	z := zipper{pageRows: p, stored: p.values, bitsDef: bits.Len16(maxLevel(p.layers))}
	if len(p.rep) > 0 {
		z.bitsRep = bits.Len16(p.maxRep)
	}
	layout := &pb.FullZipLayout{
		BitsRep:         uint32(z.bitsRep),
		BitsDef:         uint32(z.bitsDef),
		NumItems:        uint32(p.n),
		NumVisibleItems: uint32(p.values.N),
		Layers:          p.layers,
	}
	if p.values.Shape.Kind == values.Variable {
		layout.BitsPerOffset = uint32(p.offsetBits)
		var err error
		if z.stored, layout.ValueCompression, err = p.chooseZipCodec(); err != nil {
			return encoding.Page{}, err
		}
	} else {
		layout.BitsPerValue = uint32(8 * z.fixedBytes())
		layout.ValueCompression = codec.FlatCodec(p.values, 8)
		if p.values.NoItems() {
			layout.ValueCompression = codec.ListCodec(p.values, &pb.Constant{})
		}
		// Values without levels are their memory.
		if z.isPlain() {
			return encoding.NewPage(layout, p.n, p.values.Fixed), nil
		}
	}
	z.zip()
	if len(z.rows) == 0 {
		return encoding.NewPage(layout, p.n, z.data), nil
	}
	return encoding.NewPage(layout, len(z.rows), z.data, narrow(append(z.rows, len(z.data)))), nil
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
	stored           *values.Values // the page's values, compressed if they are
	bitsRep, bitsDef int
	data             []byte
	rows             []int // positions of rows, when the layout needs them
}

// isPlain reports whether the page is just the memory of its values.
func (z *zipper) isPlain() bool {
	v := z.values
	return z.bitsRep == 0 && z.bitsDef == 0 && v.Shape.Kind == values.Fixed && v.Shape.Bits != 1 && v.Valid == nil
}

// fixedBytes is the size of a stored fixed value, bitmaps included.
func (z *zipper) fixedBytes() int {
	s := z.values.Shape
	size := 0
	if z.values.Valid != nil {
		items := 1
		for depth, dim := range s.Dims {
			items *= dim
			if z.values.HasInvalid(depth) {
				size += (items + 7) / 8
			}
		}
	}
	switch {
	case z.values.NoItems():
		return size
	case s.Bits == 1:
		return size + s.Items
	}
	return size + s.ValueBits()/8
}

// zip writes the rows of the page: control word, length if variable, and value of each entry.
func (z *zipper) zip() {
	v := z.stored
	control := codec.ControlBytes(z.bitsRep + z.bitsDef)
	perValue := 4
	if v.Shape.Kind == values.Fixed {
		perValue = z.fixedBytes()
	}
	z.data = make([]byte, 0, control*z.n+perValue*v.N+len(v.Data))
	needRows := v.Shape.Kind == values.Variable || z.bitsRep > 0
	value := 0
	for e := range z.n {
		var rep, def uint16
		if z.bitsRep > 0 {
			rep = z.rep[e]
		}
		if z.bitsDef > 0 {
			def = z.def[e]
		}
		// Only pages of variable rows need an index of where rows begin.
		if needRows && rep == z.maxRep {
			z.rows = append(z.rows, len(z.data))
		}
		z.data = codec.AppendWord(z.data, uint64(rep)<<z.bitsDef|uint64(def), control)
		if def > z.visible {
			continue
		}
		if v.Shape.Kind == values.Fixed {
			z.appendFixed(value)
		} else if def == 0 {
			b := v.Bytes(value)
			z.data = codec.AppendWord(z.data, uint64(len(b)), int(z.offsetBits/8))
			z.data = append(z.data, b...)
		}
		value++
	}
}

// appendFixed appends the value with the bitmaps of its items. Booleans take a byte.
func (z *zipper) appendFixed(i int) {
	v := z.values
	if v.Valid != nil {
		items := 1
		for depth, dim := range v.Shape.Dims {
			items *= dim
			if v.HasInvalid(depth) {
				at := len(z.data)
				z.data = append(z.data, make([]byte, (items+7)/8)...)
				values.CopyBits(z.data[at:], 0, v.Valid[depth].Bytes, i*items, items)
			}
		}
	}
	switch {
	case v.NoItems():
		return
	case v.Shape.Bits != 1:
		z.data = append(z.data, v.Bytes(i)...)
		return
	}
	for k := range v.Shape.Items {
		z.data = append(z.data, 0)
		if bitutil.BitIsSet(v.Fixed, i*v.Shape.Items+k) {
			z.data[len(z.data)-1] = 1
		}
	}
}

// narrow encodes ascending positions in the narrowest integers that hold the last.
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
		b = codec.AppendWord(b, uint64(p), size)
	}
	return b
}

// levelsOf returns the number of definition levels of a layer.
func levelsOf(layer pb.RepDefLayer) int {
	switch layer {
	case pb.AllValidItem, pb.AllValidList:
		return 0
	case pb.NullAndEmptyList:
		return 2
	}
	return 1
}

func rawLevels(levels []uint16) []byte { return arrow.Uint16Traits.CastToBytes(levels) }
