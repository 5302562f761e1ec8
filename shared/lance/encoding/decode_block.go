package encoding

import (
	"encoding/binary"
	"math"

	"tiltyard/shared/lance/pb"
)

// The block form of a codec is one buffer that holds a known number of values: levels,
// and the items of dictionaries.
//
//	Flat, FixedSizeList   as in chunks; lists put the validity of each value before it
//	Variable              see decodeVariableBlock
//	InlineBitpacking      as in chunks, at most 1024 values
//	OutOfLineBitpacking   see decodeOutOfLine
//	RLE                   u64 size of the values, values, lengths
//	Constant              no bytes; the value is in the description
//	General               the block, compressed

// decodeBlock appends the n values of a block to dst.
func decodeBlock(dst *values, c pb.Codec, buf []byte, n int) error {
	switch c := c.(type) {
	case *pb.Variable:
		return decodeVariableBlock(dst, c, buf, n)
	case *pb.OutOfLineBitpacking:
		return decodeBitpackedBlock(dst, c, buf, n)
	case *pb.RLE:
		return decodeRunBlock(dst, c, buf, n)
	case *pb.Constant:
		return decodeConstantBlock(dst, c, n)
	case *pb.General:
		if err := checkScheme(c.Compression.Scheme); err != nil {
			return err
		}
		inner, err := decompress(c.Compression.Scheme, buf, dst.room)
		if err != nil {
			return err
		}
		return decodeBlock(dst, c.Values, inner, n)
	case *pb.FixedSizeList:
		return decodeListBlock(dst, c, buf, n)
	case *pb.Flat, *pb.InlineBitpacking:
		codec, err := newChunkCodec(c, dst.shape)
		if err != nil {
			return err
		}
		return codec.decode(dst, [][]byte{buf}, n)
	}
	return unsupportedCodec("a block of values", c)
}

// decodeVariableBlock decodes
//
//	u32 or u64         bits of an offset: 32 or 64, which is also the width of this
//	u32 or u64         where the bytes start
//	(n+1) × u32 or u64 offsets, counted from there
//	...                bytes
func decodeVariableBlock(dst *values, c *pb.Variable, buf []byte, n int) error {
	if _, err := offsetWidth(c); err != nil {
		return err
	}
	if dst.shape.kind != shapeVariable {
		return corruptf("variable block for values of fixed width")
	}
	if len(buf) < 12 || buf[0] == 64 && len(buf) < 24 {
		return corruptf("variable block of %d bytes", len(buf))
	}
	width := int(buf[0]) / 8
	bits, start := uint64(binary.LittleEndian.Uint32(buf)), uint64(binary.LittleEndian.Uint32(buf[4:]))
	if width == 8 {
		bits, start = binary.LittleEndian.Uint64(buf), binary.LittleEndian.Uint64(buf[8:])
	}
	if bits != 32 && bits != 64 || start > uint64(len(buf)) || int(start) < 2*width {
		return corruptf("variable block of %d bytes with %d-bit offsets and bytes from %d", len(buf), bits, start)
	}
	offsets, err := parseOffsets(buf[2*width:start], n, width)
	if err != nil {
		return err
	}
	if int(offsets[n]) > len(buf)-int(start) {
		return corruptf("variable block of %d bytes with values up to %d", len(buf), offsets[n])
	}
	return dst.appendStrings(buf[start:], offsets)
}

func decodeBitpackedBlock(dst *values, c *pb.OutOfLineBitpacking, buf []byte, n int) error {
	flat, ok := c.Values.(*pb.Flat)
	if !ok || flat.Data != nil {
		return unsupportedCodec("packed words", c.Values)
	}
	width := int(min(flat.BitsPerValue, 65)) // 0 when all values are 0
	if err := wantFixed(dst.shape, int(min(c.UncompressedBits, 1<<20)), "bit-packed values"); err != nil {
		return err
	}
	if width == 0 && n > maxConstantBlock {
		return corruptf("%d values packed in no bits", n)
	}
	switch c.UncompressedBits {
	case 8:
		return decodeOutOfLine[uint8](dst, buf, width, n)
	case 16:
		return decodeOutOfLine[uint16](dst, buf, width, n)
	case 32:
		return decodeOutOfLine[uint32](dst, buf, width, n)
	case 64:
		return decodeOutOfLine[uint64](dst, buf, width, n)
	}
	return corruptf("bit-packed values of %d bits", c.UncompressedBits)
}

// splitRunBlock returns the values and lengths of a block of runs.
func splitRunBlock(buf []byte) ([][]byte, error) {
	if len(buf) < 8 {
		return nil, corruptf("block of runs of %d bytes", len(buf))
	}
	size := binary.LittleEndian.Uint64(buf)
	buf = buf[8:]
	if size > uint64(len(buf)) {
		return nil, corruptf("runs of %d bytes in %d", size, len(buf))
	}
	return [][]byte{buf[:size], buf[size:]}, nil
}

func decodeRunBlock(dst *values, c *pb.RLE, buf []byte, n int) error {
	codec, err := newRunChunks(c, dst.shape)
	if err != nil {
		return err
	}
	bufs, err := splitRunBlock(buf)
	if err != nil {
		return err
	}
	return codec.decode(dst, bufs, n)
}

// maxConstantBlock bounds the values of blocks that need no bytes to hold them.
const maxConstantBlock = 1 << 24

func decodeConstantBlock(dst *values, c *pb.Constant, n int) error {
	if dst.shape.kind != shapeFixed || dst.shape.bits == 1 || 8*len(c.Value) != dst.shape.valueBits() || n > maxConstantBlock {
		return corruptf("constant of %d bytes for values of another type", len(c.Value))
	}
	return dst.repeatFixed(c.Value, n)
}

// repeatFixed appends the same fixed value n times.
func (v *values) repeatFixed(value []byte, n int) error {
	if len(value) > 0 && n > math.MaxInt32/len(value) {
		return errTooLarge
	}
	if err := v.room.takeItems(n, len(value)); err != nil {
		return err
	}
	out := v.extendFixed(n)
	for done := copy(out, value); done < len(out) && done > 0; {
		done += copy(out[done:], out[:done])
	}
	return nil
}

// decodeListBlock decodes fixed-size lists, which are in their value form.
func decodeListBlock(dst *values, c *pb.FixedSizeList, buf []byte, n int) error {
	codec, err := newFixedValue(c, dst.shape)
	if err != nil {
		return err
	}
	return codec.decode(dst, buf, n, codec.size())
}
