package encoding

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"tiltyard/shared/lance/pb"
)

// A constant page stores no values, or one for all rows:
//
//	all rows null at the leaf     no buffers
//	nulls and empty lists only    rep levels | def levels                (a)
//	one value of up to 32 bytes   in the layout, and unless no entry is
//	                              cut off or repeated: rep levels | def levels
//	another value                 value | and as above
//
// Either kind of level may be absent: an empty buffer. Levels are u16, but in version
// 2.2 those of (a) may be encoded as a block (levelEncoder). A value in a buffer is the
// memory of an Arrow array of length one, without validity:
//
//	u32 buffers | u32 size of each | the buffers        strings: offsets, bytes

const maxInlineValue = 32

// constantNulls makes a page of rows without any valid value.
func (p *pageRows) constantNulls() Page {
	p.loosen()
	layout := &pb.ConstantLayout{Layers: p.layers}
	if len(p.layers) == 1 && p.layers[0] == pb.NullableItem {
		return newPage(layout, p.n)
	}
	rep, def := rawLevels(p.rep), rawLevels(p.def)
	if p.constants { // the version that has constants can compress levels, too
		rep, layout.RepCompression, layout.NumRepValues = p.compressLevels(p.rep)
		def, layout.DefCompression, layout.NumDefValues = p.compressLevels(p.def)
	}
	return newPage(layout, p.rows(), rep, def)
}

// loosen lets all that is within a struct be null, if the struct may be, with levels that
// do not occur. The native reader (14.0) makes a null of every value of a constant page
// that is cut off further out, and takes offence at it in a member that must not be null,
// unless the struct around that is null as well.
func (p *pageRows) loosen() {
	layers := p.loosened()
	numbers := []uint16{0} // the new levels by the old ones
	next := uint16(1)
	for i, layer := range p.layers {
		for range levelsOf(layer) {
			numbers = append(numbers, next)
			next++
		}
		next += uint16(levelsOf(layers[i]) - levelsOf(layer))
	}
	for i, d := range p.def {
		p.def[i] = numbers[d]
	}
	p.layers = layers
}

// loosened returns the layers as loosen makes them.
func (p *pageRows) loosened() []pb.RepDefLayer {
	layers := slices.Clone(p.layers)
	within := false // a nullable item
	for i := len(layers) - 1; i >= 0; i-- {
		switch layers[i] {
		case pb.NullableItem:
			within = true
		case pb.AllValidItem:
			layers[i] = itemLayer(within)
		default:
			within = false
		}
	}
	return layers
}

// loosensStructs reports whether loosen lets a struct be null and not just its member. Of
// that the other members of the struct know nothing, and the native reader may ask them.
func (p *pageRows) loosensStructs() bool {
	return !slices.Equal(p.loosened()[1:], p.layers[1:])
}

// levelsOf returns how many definition levels a layer has.
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

func (p *pageRows) compressLevels(levels []uint16) ([]byte, pb.Codec, uint64) {
	if len(levels) == 0 {
		return nil, nil, 0
	}
	codec := chooseLevelEncoder(levels, []int{len(levels)}, math.MaxInt, p.runs)
	return codec.appendBlock(nil, levels), codec.pb, uint64(len(levels))
}

// constantValue makes a page of rows whose valid values are all equal, if they are.
func (p *pageRows) constantValue(first int) (Page, bool) {
	if !p.constants || p.values.shape.dims != nil || p.loosensStructs() || !p.cheapLevels() || !p.allEqual(first) {
		return Page{}, false
	}
	p.loosen()
	layout := &pb.ConstantLayout{Layers: p.layers}
	var buffers [][]byte
	if p.dict != nil {
		index := viewAs[uint32](p.values.fixed)[first]
		buffers = append(buffers, p.stringBuffer(p.dict.items.bytes(int(index))))
	} else if p.values.shape.kind == shapeVariable {
		buffers = append(buffers, p.stringBuffer(p.values.bytes(first)))
	} else if inline := p.values.scalar(first); len(inline) <= maxInlineValue {
		layout.InlineValue = inline
	} else {
		buffers = append(buffers, valueBuffer(inline))
	}
	if len(p.rep) > 0 || len(p.def) > 0 {
		buffers = append(buffers, rawLevels(p.rep), rawLevels(p.def))
	}
	return newPage(layout, p.rows(), buffers...), true
}

// cheapLevels reports whether levels as u16 take little room beside the values that a
// constant saves. Otherwise other layouts, which compress levels, do better. Nothing but
// values is saved of a dictionary; and leaves of a dictionary type must have theirs.
func (p *pageRows) cheapLevels() bool {
	size := 2 * (len(p.rep) + len(p.def))
	if p.dict != nil {
		return size == 0 && !p.dict.typed
	}
	return size <= 1024 || 2*size <= len(p.values.fixed)
}

// allEqual reports whether all valid values are equal to the first.
func (p *pageRows) allEqual(first int) bool {
	v := p.values
	want := v.scalar(first)
	if len(p.def) == 0 {
		for i := first + 1; i < v.n; i++ {
			if !v.equals(i, want) {
				return false
			}
		}
		return true
	}
	value := 0
	for _, d := range p.def {
		if d == 0 && !v.equals(value, want) {
			return false
		}
		if d <= p.visible {
			value++
		}
	}
	return true
}

// scalar returns the i-th value in whole bytes.
func (v *values) scalar(i int) []byte {
	if v.shape.bits != 1 {
		return v.bytes(i)
	}
	if bitutil.BitIsSet(v.fixed, i) {
		return []byte{1}
	}
	return []byte{0}
}

func (v *values) equals(i int, want []byte) bool {
	if v.shape.bits == 1 {
		return bitutil.BitIsSet(v.fixed, i) == (want[0] == 1)
	}
	return bytes.Equal(v.bytes(i), want)
}

// stringBuffer is the array of one variable value.
func (p *pageRows) stringBuffer(value []byte) []byte {
	offsets := binary.LittleEndian.AppendUint32(make([]byte, 4), uint32(len(value)))
	if p.offsetBits == 64 {
		offsets = binary.LittleEndian.AppendUint64(make([]byte, 8), uint64(len(value)))
	}
	return valueBuffer(offsets, value)
}

func valueBuffer(buffers ...[]byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(buffers)))
	for _, buffer := range buffers {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(buffer)))
	}
	for _, buffer := range buffers {
		b = append(b, buffer...)
	}
	return b
}
