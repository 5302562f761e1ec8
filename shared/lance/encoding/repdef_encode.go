package encoding

import (
	"encoding/binary"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/encoding/bitpack"
	"tiltyard/shared/lance/pb"
)

// A levelBuffer collects the levels of the rows of a page to be.
type levelBuffer struct {
	n   int      // entries
	rep []uint16 // n of them below lists, otherwise none
	def []uint16 // n of them, or none while all are 0
}

// add appends the levels of the shredder's last rows.
func (b *levelBuffer) add(s *shredder) {
	if s.cut && len(b.def) == 0 {
		b.def = zeros(b.def, b.n)
	}
	switch {
	case s.cut:
		b.def = append(b.def, s.def[:s.n]...)
	case len(b.def) > 0:
		b.def = append(b.def, make([]uint16, s.n)...)
	}
	if s.lists > 0 {
		b.rep = append(b.rep, s.rep[:s.n]...)
	}
	b.n += s.n
}

func (b *levelBuffer) reset() { b.n, b.rep, b.def = 0, b.rep[:0], b.def[:0] }

// finish renumbers the levels so that only those that occur are left, and returns the
// layers that say so, innermost first, together with the highest level of an entry
// that has a stored value.
//
// A list layer that is all valid keeps the level of an empty list when a layer further
// out has a level: the native reader (14.0) counts lists by their levels, and takes
// entries of outer layers for items of the list otherwise.
func (b *levelBuffer) finish(s *shredder) (layers []pb.RepDefLayer, visible uint16) {
	var seen, numbers [256]uint16 // two levels for each of at most 64 steps, and the leaf's
	for _, d := range b.def {
		seen[d] = 1
	}
	next := uint16(1)
	take := func(level uint16, forced bool) bool {
		if seen[level] == 0 && !forced {
			return false
		}
		numbers[level] = next
		next++
		return true
	}
	layers = append(layers, itemLayer(take(s.leafNull, false)))
	visible = next - 1
	inLists := false
	steps := s.path.Steps
	for i := len(steps) - 1; i >= 0; i-- {
		if steps[i].Kind != ListStep {
			layers = append(layers, itemLayer(take(s.nulls[i], false)))
		} else {
			inLists = true
			null := take(s.nulls[i], false)
			forced := !null && slices.Max(seen[s.nulls[i]+2:]) > 0
			layers = append(layers, listLayer(null, take(s.nulls[i]+1, forced)))
		}
		if !inLists {
			visible = next - 1
		}
	}
	for i, d := range b.def {
		b.def[i] = numbers[d]
	}
	if len(b.def) > 0 && next == 1 {
		b.def = b.def[:0]
	}
	return layers, visible
}

func itemLayer(null bool) pb.RepDefLayer {
	if null {
		return pb.NullableItem
	}
	return pb.AllValidItem
}

func listLayer(null, empty bool) pb.RepDefLayer {
	switch {
	case null && empty:
		return pb.NullAndEmptyList
	case null:
		return pb.NullableList
	case empty:
		return pb.EmptyableList
	}
	return pb.AllValidList
}

// A levelEncoder encodes blocks of levels, one for each chunk of a page, all alike.
//
//	Flat 16                  n × u16
//	OutOfLineBitpacking 16   per 1024 levels 64·width u16 words (see bitpack.Pack); the rest
//	                         so as well or, where that is not smaller, as plain u16
//	RLE                      u64 bytes of the values | values × u16 | lengths × u8
type levelEncoder struct {
	pb    pb.Codec // nil: there are no levels
	width int      // of OutOfLineBitpacking
}

// chooseLevelEncoder picks the codec that takes the least room for levels that are cut
// into blocks of these lengths, none of more bytes than a limit that they all keep when
// packed. Readers of version 2.1 do not expect RLE.
func chooseLevelEncoder(levels []uint16, blocks []int, limit int, mayRLE bool) levelEncoder {
	width := max(1, bitpack.Width(levels)) // readers do not expect a width of 0
	flat, packed, rle := 0, 0, 0
	for _, n := range blocks {
		flat += 2 * n
		packed += packedLevelBytes(n, width)
		if mayRLE && rle < flat {
			size := 8 + 3*countRuns(levels[:n])
			mayRLE = size <= limit
			rle += size
		}
		levels = levels[n:]
	}
	switch {
	case mayRLE && rle < flat && rle < packed:
		return levelEncoder{pb: &pb.RLE{Values: &pb.Flat{BitsPerValue: 16}, RunLengths: &pb.Flat{BitsPerValue: 8}}}
	case width < 16 && packed < flat:
		return levelEncoder{
			pb:    &pb.OutOfLineBitpacking{UncompressedBits: 16, Values: &pb.Flat{BitsPerValue: uint64(width)}},
			width: width,
		}
	}
	return levelEncoder{pb: &pb.Flat{BitsPerValue: 16}}
}

// packsTail reports whether the last n < 1024 integers of so many words when packed are
// worth a packed block. Readers tell by the length of the whole, so the two must not be
// equally long.
func packsTail(n, words int) bool { return words < n }

func packedLevelBytes(n, width int) int {
	words := bitpack.Words[uint16](width)
	size := n / bitpack.BlockValues * 2 * words
	tail := n % bitpack.BlockValues
	if packsTail(tail, words) {
		return size + 2*words
	}
	return size + 2*tail
}

// appendBlock appends the encoded levels to b.
func (c *levelEncoder) appendBlock(b []byte, levels []uint16) []byte {
	switch c.pb.(type) {
	case *pb.RLE:
		return appendRuns(b, levels)
	case *pb.OutOfLineBitpacking:
		return appendBitpacked(b, levels, c.width)
	default:
		return append(b, arrow.Uint16Traits.CastToBytes(levels)...)
	}
}

func appendRuns(b []byte, levels []uint16) []byte {
	runs := countRuns(levels)
	b = binary.LittleEndian.AppendUint64(b, uint64(2*runs))
	for i := 0; i < len(levels); i += runLength(levels[i:]) {
		b = binary.LittleEndian.AppendUint16(b, levels[i])
	}
	for i := 0; i < len(levels); {
		n := runLength(levels[i:])
		b = append(b, byte(n))
		i += n
	}
	return b
}

// appendBitpacked appends the block form of OutOfLineBitpacking.
func appendBitpacked[T bitpack.Integer](b []byte, integers []T, width int) []byte {
	var packed [bitpack.BlockValues]T
	words := packed[:bitpack.Words[T](width)]
	for len(integers) >= bitpack.BlockValues {
		bitpack.Pack(words, (*[bitpack.BlockValues]T)(integers), width)
		b = append(b, bytesOf(words)...)
		integers = integers[bitpack.BlockValues:]
	}
	if !packsTail(len(integers), len(words)) {
		return append(b, bytesOf(integers)...)
	}
	var block [bitpack.BlockValues]T
	copy(block[:], integers)
	bitpack.Pack(words, &block, width)
	return append(b, bytesOf(words)...)
}
