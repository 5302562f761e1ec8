package write

import (
	"encoding/binary"
	"math"
	"slices"

	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/internal/encoding/codec"
	"tiltyard/shared/lance/internal/encoding/repdef"
	"tiltyard/shared/lance/internal/encoding/values"
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
// Either buffer of levels may be empty, which means that the page has none of them. Levels are u16;
// in version 2.2 those of (a) may be encoded as a block (codec.LevelEncoder). A value in a buffer
// has the form of an Arrow array of length one, without validity; package read, constant.go, shows
// the bytes of one:
//
//	u32 buffers | u32 size of each | the buffers        strings: offsets, bytes

const maxInlineValue = 32

// constantNulls makes a page of rows without a valid value.
func (p *pageRows) constantNulls() encoding.Page {
	p.loosen()
	layout := &pb.ConstantLayout{Layers: p.layers}
	if len(p.layers) == 1 && p.layers[0] == pb.NullableItem {
		return encoding.NewPage(layout, p.n)
	}
	rep, def := rawLevels(p.rep), rawLevels(p.def)
	if p.constants { // the version that has constants can compress levels, too
		rep, layout.RepCompression, layout.NumRepValues = p.compressLevels(p.rep)
		def, layout.DefCompression, layout.NumDefValues = p.compressLevels(p.def)
	}
	return encoding.NewPage(layout, p.rows(), rep, def)
}

// loosen makes all layers inside of a nullable struct nullable, with levels that do not occur. The
// native reader (14.0) turns every value of a constant page that is cut off further out into a
// null, and then rejects a null in a member that is not nullable, unless the struct around it is
// null as well.
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

// loosened returns the layers as loosen sets them.
func (p *pageRows) loosened() []pb.RepDefLayer {
	layers := slices.Clone(p.layers)
	within := false // a nullable item
	for i := len(layers) - 1; i >= 0; i-- {
		switch layers[i] {
		case pb.NullableItem:
			within = true
		case pb.AllValidItem:
			layers[i] = repdef.ItemLayer(within)
		default:
			within = false
		}
	}
	return layers
}

// loosensStructs reports whether loosen makes a struct nullable, not just its member. The pages of
// the struct's other members disagree with this, and the native reader may consult them.
func (p *pageRows) loosensStructs() bool {
	return !slices.Equal(p.loosened()[1:], p.layers[1:])
}

// compressLevels encodes levels as a block of version 2.2 and returns their count.
func (p *pageRows) compressLevels(levels []uint16) ([]byte, pb.Codec, uint64) {
	if len(levels) == 0 {
		return nil, nil, 0
	}
	codec := codec.ChooseLevelEncoder(levels, []int{len(levels)}, math.MaxInt, p.runs)
	return codec.AppendBlock(nil, levels), codec.Codec, uint64(len(levels))
}

// constantValue makes a page of rows whose valid values are all equal, if they are all equal.
func (p *pageRows) constantValue(first int) (encoding.Page, bool) {
	if !p.constants || p.values.Shape.Dims != nil || p.loosensStructs() || !p.cheapLevels() || !p.allEqual(first) {
		return encoding.Page{}, false
	}
	p.loosen()
	layout := &pb.ConstantLayout{Layers: p.layers}
	var buffers [][]byte
	if p.dict != nil {
		index := values.ViewAs[uint32](p.values.Fixed)[first]
		buffers = append(buffers, p.stringBuffer(p.dict.Items.Bytes(int(index))))
	} else if p.values.Shape.Kind == values.Variable {
		buffers = append(buffers, p.stringBuffer(p.values.Bytes(first)))
	} else if inline := p.values.Scalar(first); len(inline) <= maxInlineValue {
		layout.InlineValue = inline
	} else {
		buffers = append(buffers, valueBuffer(inline))
	}
	if len(p.rep) > 0 || len(p.def) > 0 {
		buffers = append(buffers, rawLevels(p.rep), rawLevels(p.def))
	}
	return encoding.NewPage(layout, p.rows(), buffers...), true
}

// cheapLevels reports whether levels as u16 take few bytes in comparison with the values that a
// constant page saves. Otherwise a layout that compresses levels is better. A constant of a
// dictionary saves indices only, and a leaf of a dictionary type must keep its dictionary.
func (p *pageRows) cheapLevels() bool {
	size := 2 * (len(p.rep) + len(p.def))
	if p.dict != nil {
		return size == 0 && !p.dict.Typed
	}
	return size <= 1024 || 2*size <= len(p.values.Fixed)
}

// allEqual reports whether all valid values are equal to the first.
func (p *pageRows) allEqual(first int) bool {
	v := p.values
	want := v.Scalar(first)
	if len(p.def) == 0 {
		for i := first + 1; i < v.N; i++ {
			if !v.Equals(i, want) {
				return false
			}
		}
		return true
	}
	value := 0
	for _, d := range p.def {
		if d == 0 && !v.Equals(value, want) {
			return false
		}
		if d <= p.visible {
			value++
		}
	}
	return true
}

// stringBuffer returns the buffer of a constant of variable width.
func (p *pageRows) stringBuffer(value []byte) []byte {
	offsets := binary.LittleEndian.AppendUint32(make([]byte, 4), uint32(len(value)))
	if p.offsetBits == 64 {
		offsets = binary.LittleEndian.AppendUint64(make([]byte, 8), uint64(len(value)))
	}
	return valueBuffer(offsets, value)
}

// valueBuffer encodes an Arrow array of one value: u32 count, u32 sizes, and the buffers.
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
