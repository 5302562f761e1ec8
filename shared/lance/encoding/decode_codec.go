package encoding

import (
	"fmt"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
)

// A chunkCodec decodes the value buffers of mini-block chunks. It holds what the page's
// description says and no state: one serves many goroutines.
type chunkCodec interface {
	// buffers is how many value buffers a chunk has.
	buffers() int
	// decode appends the n values of a chunk to dst. It checks that the buffers really
	// hold them before it makes room.
	decode(dst *values, bufs [][]byte, n int) error
}

// newChunkCodec returns the decoder of chunks of values of the given shape.
func newChunkCodec(c pb.Codec, s *shape) (chunkCodec, error) {
	switch c := c.(type) {
	case *pb.Flat:
		return newFlatChunks(c, s)
	case *pb.Variable:
		return newVariableChunks(c, s)
	case *pb.FSST:
		return newFSSTChunks(c, s)
	case *pb.InlineBitpacking:
		return newBitpackedChunks(c, s)
	case *pb.RLE:
		return newRunChunks(c, s)
	case *pb.ByteStreamSplit:
		return newSplitChunks(c, s)
	case *pb.General:
		return newCompressedChunks(c, s)
	case *pb.FixedSizeList:
		return newListChunks(c, s)
	case *pb.PackedStruct:
		return newPackedChunks(c, s)
	}
	return nil, unsupportedCodec("mini-block values", c)
}

// integerBits returns the width of the integers that a codec of dictionary indices or
// levels yields.
func integerBits(c pb.Codec) (int, error) {
	bits := uint64(0)
	switch c := c.(type) {
	case *pb.Flat:
		bits = c.BitsPerValue
	case *pb.InlineBitpacking:
		bits = c.UncompressedBits
	case *pb.OutOfLineBitpacking:
		bits = c.UncompressedBits
	case *pb.RLE:
		return integerBits(c.Values)
	case *pb.ByteStreamSplit:
		return integerBits(c.Values)
	case *pb.General:
		return integerBits(c.Values)
	}
	switch bits {
	case 8, 16, 32, 64:
		return int(bits), nil
	}
	return 0, fmt.Errorf("%w: integers of %d bits in %s", lance.ErrCorrupt, bits, codecName(c))
}

// flatBits returns the width that a Flat codec without compression of its own has.
func flatBits(c pb.Codec) (int, error) {
	flat, ok := c.(*pb.Flat)
	if !ok {
		return 0, unsupportedCodec("plain values", c)
	}
	if flat.Data != nil {
		return 0, fmt.Errorf("%w: flat values with buffer compression", lance.ErrUnsupported)
	}
	if flat.BitsPerValue == 0 || flat.BitsPerValue > 8*maxValueBytes {
		return 0, fmt.Errorf("%w: flat values of %d bits", lance.ErrCorrupt, flat.BitsPerValue)
	}
	return int(flat.BitsPerValue), nil
}

// wantFixed returns an error unless s is fixed, without lists, of the given width.
func wantFixed(s *shape, bits int, codec string) error {
	if s.kind != shapeFixed || s.dims != nil || s.bits != bits {
		return fmt.Errorf("%w: %s of %d bits for values of another type", lance.ErrCorrupt, codec, bits)
	}
	return nil
}

func corruptf(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{lance.ErrCorrupt}, args...)...)
}

func unsupportedCodec(what string, c pb.Codec) error {
	if c == nil {
		return fmt.Errorf("%w: %s without an encoding", lance.ErrCorrupt, what)
	}
	return fmt.Errorf("%w: %s encoded as %s", lance.ErrUnsupported, what, codecName(c))
}

func codecName(c pb.Codec) string {
	switch c := c.(type) {
	case *pb.Flat:
		return "Flat"
	case *pb.Variable:
		return "Variable"
	case *pb.Constant:
		return "Constant"
	case *pb.OutOfLineBitpacking:
		return "OutOfLineBitpacking"
	case *pb.InlineBitpacking:
		return "InlineBitpacking"
	case *pb.FSST:
		return "FSST"
	case *pb.Dictionary:
		return "Dictionary"
	case *pb.RLE:
		return "RLE"
	case *pb.ByteStreamSplit:
		return "ByteStreamSplit"
	case *pb.General:
		return "General"
	case *pb.FixedSizeList:
		return "FixedSizeList"
	case *pb.PackedStruct:
		return "PackedStruct"
	case *pb.VariablePackedStruct:
		return "VariablePackedStruct"
	case *pb.UnknownCodec:
		return fmt.Sprintf("unknown encoding %d", c.Num)
	}
	return "nothing"
}
