package inverted

import (
	"encoding/binary"
	"fmt"

	"tiltyard/shared/lance"
)

// group is the number of distances that are packed together, in both formats.
const group = 128

// groupLanes is the number of interleaved bit streams in a group.
const groupLanes = 4

// A positionStream decodes the positions of a term in each document of a block. Format 2 writes, for each
// document of a posting block in turn, its first position and then the distances between them: full groups
// of 128 numbers are packed, as u8 bits and [16·b]; the rest are varints. An early form has only varints.
type positionStream struct {
	data   []byte
	blocks []uint32 // where each block begins
	packed bool
}

// decode appends the positions in all documents of a block to positions, document after document.
func (s *positionStream) decode(number int, frequencies []uint32, positions []uint32) ([]uint32, error) {
	from, to := int64(s.blocks[number]), int64(len(s.data))
	if number+1 < len(s.blocks) {
		to = int64(s.blocks[number+1])
	}
	if from > to || to > int64(len(s.data)) {
		return nil, fmt.Errorf("%w: positions from byte %d to %d of %d", lance.ErrCorrupt, from, to, len(s.data))
	}
	r := &reader{data: s.data[from:to]}
	total := 0
	for _, n := range frequencies {
		total += int(n)
	}
	// A number takes no bits only in a group, which has a byte of its own.
	if total > (group+1)*len(r.data) {
		return nil, fmt.Errorf("%w: %d positions in %d bytes", lance.ErrCorrupt, total, len(r.data))
	}
	start := len(positions)
	if s.packed {
		var unpacked [group]uint32
		for range total / group {
			r.packed(unpacked[:], groupLanes)
			positions = append(positions, unpacked[:]...)
		}
	}
	for len(positions)-start < total && r.err == nil {
		positions = append(positions, r.varint())
	}
	if r.err == nil && len(r.data) > 0 {
		r.fail("%d bytes after the last position", len(r.data))
	}
	if r.err != nil {
		return nil, r.err
	}
	return positions, sums(positions[start:], frequencies)
}

// sums replaces the distances of each document by positions, as running sums.
func sums(positions []uint32, frequencies []uint32) error {
	for _, n := range frequencies {
		for i := 1; i < int(n); i++ {
			positions[i] += positions[i-1]
			if positions[i] < positions[i-1] {
				return fmt.Errorf("%w: a position beyond 32 bits", lance.ErrCorrupt)
			}
		}
		positions = positions[n:]
	}
	return nil
}

// appendPositions appends the positions of one document in format 1: a u32 with their number, then packed
// blocks as in posting lists, and the rest as u32.
func appendPositions(positions []uint32, blocks [][]byte, want int) ([]uint32, error) {
	if len(blocks) == 0 || len(blocks[0]) != 4 || int64(binary.LittleEndian.Uint32(blocks[0])) != int64(want) ||
		len(blocks) != 1+(want+group-1)/group {
		return nil, fmt.Errorf("%w: positions of a document are others than it has", lance.ErrCorrupt)
	}
	for i, data := range blocks[1:] {
		var unpacked [group]uint32
		values := unpacked[:min(group, want-i*group)]
		r := &reader{data: data}
		if len(values) == group {
			at := r.uint32()
			r.packed(values, groupLanes)
			for j, distance := range values {
				at += distance
				values[j] = at
			}
		} else {
			r.plain(values)
		}
		if r.err != nil || len(r.data) > 0 {
			return nil, fmt.Errorf("%w: positions of a document: %d bytes too many or too few", lance.ErrCorrupt, len(r.data))
		}
		positions = append(positions, values...)
	}
	return positions, nil
}
