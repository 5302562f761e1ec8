package inverted

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// encode appends a block to data, the inverse of decode. It writes zero for the maximal score, which the
// caller sets.
func (c coding) encode(data []byte, b *block) []byte {
	if c.scored() {
		data = append(data, 0, 0, 0, 0)
	}
	if len(b.documents) < c.block {
		return c.encodeRest(data, b)
	}
	data = binary.LittleEndian.AppendUint32(data, b.documents[0])
	var distances [maxBlock]uint32
	for i := 1; i < len(b.documents); i++ {
		distances[i] = b.documents[i] - b.documents[i-1]
	}
	data = appendPacked(data, distances[:len(b.documents)], c.lanes())
	if c.scored() {
		return appendPacked(data, b.frequencies, c.lanes())
	}
	return c.encodePatched(data, b.frequencies)
}

// encodeRest appends a block that is not full.
func (c coding) encodeRest(data []byte, b *block) []byte {
	if !c.varint {
		for _, values := range [][]uint32{b.documents, b.frequencies} {
			for _, v := range values {
				data = binary.LittleEndian.AppendUint32(data, v)
			}
		}
		return data
	}
	before := uint32(0)
	for _, d := range b.documents {
		data = binary.AppendUvarint(data, uint64(d-before))
		before = d
	}
	for _, f := range b.frequencies {
		data = binary.AppendUvarint(data, uint64(f))
	}
	return data
}

// maxExceptions is the maximal number of values of a block with more bits than the packed width.
const maxExceptions = 31

// encodePatched appends frequencies with as few bytes as possible.
func (c coding) encodePatched(data []byte, values []uint32) []byte {
	most := width(values)
	best, least := most, len(values)*most/8
	for packed := most - 1; packed >= 0; packed-- {
		count, size := 0, len(values)*packed/8
		for _, v := range values {
			if high := v >> packed; high > 0 {
				count++
				size += 1 + (bits.Len32(high)+6)/7
			}
		}
		if count > maxExceptions {
			break
		}
		if size < least {
			best, least = packed, size
		}
	}
	var low [maxBlock]uint32
	var exceptions []byte
	count := byte(0)
	for i, v := range values {
		low[i] = v & uint32(1<<best-1)
		if high := v >> best; high > 0 {
			count++
			exceptions = binary.AppendUvarint(append(exceptions, byte(i)), uint64(high))
		}
	}
	data = append(data, byte(best), count)
	data = pack(data, low[:len(values)], best, c.lanes())
	return append(data, exceptions...)
}

// width returns the number of bits of the largest value.
func width(values []uint32) int {
	all := uint32(0)
	for _, v := range values {
		all |= v
	}
	return bits.Len32(all)
}

// appendPacked appends the number of bits per value, and the values.
func appendPacked(data []byte, values []uint32, lanes int) []byte {
	n := width(values)
	return pack(append(data, byte(n)), values, n, lanes)
}

// pack appends values of width bits each. It is the inverse of reader.unpack.
func pack(data []byte, values []uint32, width, lanes int) []byte {
	size := len(values) * width / 8
	start := len(data)
	data = slices.Grow(data, size)[:start+size]
	out := data[start:]
	clear(out)
	if width == 0 {
		return data
	}
	or := func(word int, v uint32) {
		at := out[4*word:]
		binary.LittleEndian.PutUint32(at, binary.LittleEndian.Uint32(at)|v)
	}
	for slot := range len(values) / lanes {
		word, shift := slot*width/32*lanes, slot*width%32
		for lane := range lanes {
			v := values[slot*lanes+lane]
			or(word+lane, v<<shift)
			if shift+width > 32 {
				or(word+lanes+lane, v>>(32-shift))
			}
		}
	}
	return data
}

// A positionWriter writes where a term is in the documents of a block, as positionStream reads it.
type positionWriter struct {
	distances [group]uint32 // that are not written yet
	n         int
}

// add adds the distance of a position from the previous one in its document.
func (w *positionWriter) add(data []byte, distance uint32) []byte {
	w.distances[w.n] = distance
	if w.n++; w.n < group {
		return data
	}
	w.n = 0
	return appendPacked(data, w.distances[:], groupLanes)
}

// end ends the block.
func (w *positionWriter) end(data []byte) []byte {
	for _, d := range w.distances[:w.n] {
		data = binary.AppendUvarint(data, uint64(d))
	}
	w.n = 0
	return data
}
