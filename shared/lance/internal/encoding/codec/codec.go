// Package codec decodes and encodes the buffers of a page. Each codec has a file, which shows its
// bytes. A codec has up to three forms:
//
//	chunks   the value buffers of a mini-block chunk   ChunkDecoder, ChunkEncoder
//	values   one value by itself, in full-zip pages     FixedValue, VariableValue
//	blocks   one buffer of levels or dictionary items   DecodeBlock
//
// The descriptions are the messages of package pb; nested messages mean that one codec is applied
// to the result of another. Begin with [NewChunkDecoder]. Source: protos/encodings_v2_1.proto of
// the format; crate lance-encoding, src/encodings/physical.
package codec

import (
	"fmt"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// A ChunkDecoder decodes the value buffers of mini-block chunks. It depends only on the page's
// description and is safe for concurrent use.
type ChunkDecoder interface {
	// Buffers returns the number of value buffers per chunk.
	Buffers() int
	// Decode appends the n values of a chunk to dst. Before it reserves memory it checks that the
	// buffers hold n values.
	Decode(dst *values.Values, bufs [][]byte, n int) error
}

// NewChunkDecoder returns the decoder of chunks of values of the given shape.
func NewChunkDecoder(c pb.Codec, s *values.Shape) (ChunkDecoder, error) {
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
		return newPackedStruct(c, s)
	}
	return nil, unsupportedCodec("mini-block values", c)
}

// IntegerBits returns the width of the integers that a codec of dictionary indices or levels
// decodes to.
func IntegerBits(c pb.Codec) (int, error) {
	bits := uint64(0)
	switch c := c.(type) {
	case *pb.Flat:
		bits = c.BitsPerValue
	case *pb.InlineBitpacking:
		bits = c.UncompressedBits
	case *pb.OutOfLineBitpacking:
		bits = c.UncompressedBits
	case *pb.RLE:
		return IntegerBits(c.Values)
	case *pb.ByteStreamSplit:
		return IntegerBits(c.Values)
	case *pb.General:
		return IntegerBits(c.Values)
	}
	switch bits {
	case 8, 16, 32, 64:
		return int(bits), nil
	}
	return 0, fmt.Errorf("%w: integers of %d bits in %s", lance.ErrCorrupt, bits, codecName(c))
}

// flatBits returns the width of the values of a Flat codec without compression of its own.
func flatBits(c pb.Codec) (int, error) {
	flat, ok := c.(*pb.Flat)
	if !ok {
		return 0, unsupportedCodec("plain values", c)
	}
	if flat.Data != nil {
		return 0, fmt.Errorf("%w: flat values with buffer compression", lance.ErrUnsupported)
	}
	if flat.BitsPerValue == 0 || flat.BitsPerValue > 8*values.MaxValueBytes {
		return 0, fmt.Errorf("%w: flat values of %d bits", lance.ErrCorrupt, flat.BitsPerValue)
	}
	return int(flat.BitsPerValue), nil
}

// WantFixed returns an error unless s is the shape of values of the given width that are not lists.
func WantFixed(s *values.Shape, bits int, codec string) error {
	if s.Kind != values.Fixed || s.Dims != nil || s.Bits != bits {
		return fmt.Errorf("%w: %s of %d bits for values of another type", lance.ErrCorrupt, codec, bits)
	}
	return nil
}

// unsupportedCodec names the codec that cannot decode such content.
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
