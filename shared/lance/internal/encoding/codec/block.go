package codec

import (
	"encoding/binary"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/encoding/compress"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// The block form of a codec is one buffer that holds a known number of values. Levels and the items
// of dictionaries are stored in this form.
//
//	Flat, FixedSizeList   as in chunks; lists put the validity of each value before it
//	Variable              see decodeVariableBlock
//	InlineBitpacking      as in chunks, at most 1024 values
//	OutOfLineBitpacking   see decodeOutOfLine
//	RLE                   u64 size of the values, values, lengths
//	Constant              no bytes; the value is in the description
//	General               the block, compressed

// DecodeBlock decodes the n values of a block and appends them to dst.
func DecodeBlock(dst *values.Values, c pb.Codec, buf []byte, n int) error {
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
		if err := compress.CheckScheme(c.Compression.Scheme); err != nil {
			return err
		}
		inner, err := compress.Decompress(c.Compression.Scheme, buf, dst.Room)
		if err != nil {
			return err
		}
		return DecodeBlock(dst, c.Values, inner, n)
	case *pb.FixedSizeList:
		return decodeListBlock(dst, c, buf, n)
	case *pb.Flat, *pb.InlineBitpacking:
		codec, err := NewChunkDecoder(c, dst.Shape)
		if err != nil {
			return err
		}
		return codec.Decode(dst, [][]byte{buf}, n)
	}
	return unsupportedCodec("a block of values", c)
}

// decodeVariableBlock decodes
//
//	u32 or u64         bits of an offset: 32 or 64, which is also the width of this
//	u32 or u64         where the bytes start
//	(n+1) × u32 or u64 offsets, counted from there
//	...                bytes
//
// The values "a", "" and "bcd", for example, are
//
//	20 00 00 00                              32 bits per offset
//	18 00 00 00                              the bytes start at 24
//	00 00 00 00 01 00 00 00 01 00 00 00 04…  offsets 0, 1, 1, 4
//	61 62 63 64                              abcd
func decodeVariableBlock(dst *values.Values, c *pb.Variable, buf []byte, n int) error {
	if _, err := offsetWidth(c); err != nil {
		return err
	}
	if dst.Shape.Kind != values.Variable {
		return lance.Corruptf("variable block for values of fixed width")
	}
	if len(buf) < 12 || buf[0] == 64 && len(buf) < 24 {
		return lance.Corruptf("variable block of %d bytes", len(buf))
	}
	width := int(buf[0]) / 8
	bits, start := uint64(binary.LittleEndian.Uint32(buf)), uint64(binary.LittleEndian.Uint32(buf[4:]))
	if width == 8 {
		bits, start = binary.LittleEndian.Uint64(buf), binary.LittleEndian.Uint64(buf[8:])
	}
	if bits != 32 && bits != 64 || start > uint64(len(buf)) || int(start) < 2*width {
		return lance.Corruptf("variable block of %d bytes with %d-bit offsets and bytes from %d", len(buf), bits, start)
	}
	offsets, err := ParseOffsets(buf[2*width:start], n, width)
	if err != nil {
		return err
	}
	if int(offsets[n]) > len(buf)-int(start) {
		return lance.Corruptf("variable block of %d bytes with values up to %d", len(buf), offsets[n])
	}
	return dst.AppendStrings(buf[start:], offsets)
}

// decodeBitpackedBlock decodes the block form of bit packing by the width of the unpacked values.
func decodeBitpackedBlock(dst *values.Values, c *pb.OutOfLineBitpacking, buf []byte, n int) error {
	flat, ok := c.Values.(*pb.Flat)
	if !ok || flat.Data != nil {
		return unsupportedCodec("packed words", c.Values)
	}
	width := int(min(flat.BitsPerValue, 65)) // 0 when all values are 0
	if err := WantFixed(dst.Shape, int(min(c.UncompressedBits, 1<<20)), "bit-packed values"); err != nil {
		return err
	}
	if width == 0 && n > maxConstantBlock {
		return lance.Corruptf("%d values packed in no bits", n)
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
	return lance.Corruptf("bit-packed values of %d bits", c.UncompressedBits)
}

// splitRunBlock returns the buffers of values and of lengths in a block of runs.
func splitRunBlock(buf []byte) ([][]byte, error) {
	if len(buf) < 8 {
		return nil, lance.Corruptf("block of runs of %d bytes", len(buf))
	}
	size := binary.LittleEndian.Uint64(buf)
	buf = buf[8:]
	if size > uint64(len(buf)) {
		return nil, lance.Corruptf("runs of %d bytes in %d", size, len(buf))
	}
	return [][]byte{buf[:size], buf[size:]}, nil
}

// decodeRunBlock decodes a block with runs: u64 size of the values, then the values and the
// lengths.
func decodeRunBlock(dst *values.Values, c *pb.RLE, buf []byte, n int) error {
	codec, err := newRunChunks(c, dst.Shape)
	if err != nil {
		return err
	}
	bufs, err := splitRunBlock(buf)
	if err != nil {
		return err
	}
	return codec.Decode(dst, bufs, n)
}

// maxConstantBlock bounds the number of values in a block that stores none of them, since the size
// of the block does not bound it.
const maxConstantBlock = 1 << 24

// decodeConstantBlock repeats the value in the description.
func decodeConstantBlock(dst *values.Values, c *pb.Constant, n int) error {
	if dst.Shape.Kind != values.Fixed || dst.Shape.Bits == 1 || 8*len(c.Value) != dst.Shape.ValueBits() || n > maxConstantBlock {
		return lance.Corruptf("constant of %d bytes for values of another type", len(c.Value))
	}
	return dst.RepeatFixed(c.Value, n)
}

// decodeListBlock decodes fixed-size lists in their value form.
func decodeListBlock(dst *values.Values, c *pb.FixedSizeList, buf []byte, n int) error {
	codec, err := NewFixedValue(c, dst.Shape)
	if err != nil {
		return err
	}
	return codec.Decode(dst, buf, n, codec.Size())
}
