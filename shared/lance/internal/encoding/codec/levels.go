package codec

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/encoding/bitpack"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// levelShape is the shape of levels, which are u16.
var levelShape = values.FixedShape(16)

// CheckLevels returns an error unless c is nil or a codec of levels.
func CheckLevels(c pb.Codec) error {
	if c == nil {
		return nil
	}
	bits, err := IntegerBits(c)
	if err == nil && bits != 16 {
		err = lance.Corruptf("levels of %d bits", bits)
	}
	return err
}

// AppendLevels appends the n levels of a block to dst.
func AppendLevels(dst []uint16, c pb.Codec, buf []byte, n int) ([]uint16, error) {
	block := values.New(levelShape)
	block.Fixed, block.N = values.BytesOf(dst[:cap(dst)])[:2*len(dst)], len(dst)
	if err := DecodeBlock(block, c, buf, n); err != nil {
		return nil, err
	}
	if block.N != len(dst)+n {
		return nil, lance.Corruptf("%d levels, want %d", block.N-len(dst), n)
	}
	return values.ViewAs[uint16](block.Fixed[:cap(block.Fixed)])[:block.N], nil
}

// CountLevels returns the number of levels of a chunk whose header gives n. That count has 16 bits
// and wraps around, whereas run lengths can hold more than 65535 levels; their sum is the true
// number.
func CountLevels(n int, c pb.Codec, buf []byte) (int, error) {
	rle, ok := c.(*pb.RLE)
	if !ok {
		return n, nil
	}
	runs, err := parseRuns(rle)
	if err != nil {
		return 0, err
	}
	bufs, err := splitRunBlock(buf)
	if err != nil {
		return 0, err
	}
	total := runs.total(bufs[1], min(len(bufs[0])/runs.valueBytes, len(bufs[1])/runs.lengthBytes))
	if total%(math.MaxUint16+1) == uint64(n) && total < math.MaxInt32 {
		return int(total), nil
	}
	return n, nil
}

// PlainLevels returns levels that are stored without a codec. An empty buffer means that there are
// no levels, and yields nil.
func PlainLevels(buf []byte, n int) ([]uint16, error) {
	if len(buf) == 0 {
		return nil, nil
	}
	if len(buf) != 2*n {
		return nil, lance.Corruptf("%d levels in %d bytes", n, len(buf))
	}
	return values.ViewAs[uint16](buf), nil
}

// A LevelEncoder encodes the levels of each chunk of a page as a block, all blocks by the same
// codec.
//
//	Flat 16                  n × u16
//	OutOfLineBitpacking 16   per 1024 levels 64·width u16 words (see bitpack.Pack); the rest
//	                         so as well or, where that is not smaller, as plain u16
//	RLE                      u64 bytes of the values | values × u16 | lengths × u8
type LevelEncoder struct {
	Codec pb.Codec // nil: no levels
	width int      // of OutOfLineBitpacking
}

// ChooseLevelEncoder picks the codec that takes the fewest bytes for levels that are cut into
// blocks of these lengths. No block may exceed limit bytes; packed blocks never do. Readers of
// version 2.1 do not support RLE here, so a caller sets mayRLE for version 2.2 only.
func ChooseLevelEncoder(levels []uint16, blocks []int, limit int, mayRLE bool) LevelEncoder {
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
		return LevelEncoder{Codec: &pb.RLE{Values: &pb.Flat{BitsPerValue: 16}, RunLengths: &pb.Flat{BitsPerValue: 8}}}
	case width < 16 && packed < flat:
		return LevelEncoder{
			Codec: &pb.OutOfLineBitpacking{UncompressedBits: 16, Values: &pb.Flat{BitsPerValue: uint64(width)}},
			width: width,
		}
	}
	return LevelEncoder{Codec: &pb.Flat{BitsPerValue: 16}}
}

// packsTail reports whether the last n < 1024 integers, which take the given number of words when
// packed, are packed. A reader decides by the length of the block, so the packed and the plain form
// must differ in length.
func packsTail(n, words int) bool { return words < n }

// packedLevelBytes returns the bytes of n levels in the block form of bit packing.
func packedLevelBytes(n, width int) int {
	words := bitpack.Words[uint16](width)
	size := n / bitpack.BlockValues * 2 * words
	tail := n % bitpack.BlockValues
	if packsTail(tail, words) {
		return size + 2*words
	}
	return size + 2*tail
}

// AppendBlock appends the encoded levels to b.
func (c *LevelEncoder) AppendBlock(b []byte, levels []uint16) []byte {
	switch c.Codec.(type) {
	case *pb.RLE:
		return appendRuns(b, levels)
	case *pb.OutOfLineBitpacking:
		return AppendBitpacked(b, levels, c.width)
	default:
		return append(b, arrow.Uint16Traits.CastToBytes(levels)...)
	}
}

// appendRuns appends the run form of levels: u64 size of the values, u16 values, u8 lengths.
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
