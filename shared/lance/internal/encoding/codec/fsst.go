package codec

import (
	"math"
	"slices"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/encoding/fsst"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// fsstChunks are chunks of variable values whose bytes are FSST codes. Each value is compressed by
// itself with the page's symbol table, which is part of the description; offsets and codes are laid
// out as in variableChunks.
type fsstChunks struct {
	table *fsst.Table
	width int
}

func newFSSTChunks(c *pb.FSST, s *values.Shape) (ChunkDecoder, error) {
	inner, ok := c.Values.(*pb.Variable)
	if !ok {
		return nil, unsupportedCodec("compressed text", c.Values)
	}
	width, err := offsetWidth(inner)
	if err != nil {
		return nil, err
	}
	if s.Kind != values.Variable {
		return nil, lance.Corruptf("text compression for values of fixed width")
	}
	table, err := fsst.ParseTable(c.SymbolTable)
	return fsstChunks{table, width}, err
}

func (fsstChunks) Buffers() int { return 1 }

// Decode expands the codes of each text. A table that marks its data as plain has uncompressed
// texts.
func (c fsstChunks) Decode(dst *values.Values, bufs [][]byte, n int) error {
	buf := bufs[0]
	offsets, err := chunkOffsets(buf, n, c.width)
	if err != nil {
		return err
	}
	if c.table.Plain {
		return dst.AppendStrings(buf, offsets)
	}
	return appendCodes(dst, c.table, buf, offsets)
}

// appendCodes decodes the values that the offsets delimit in buf and appends them to v.
func appendCodes(v *values.Values, t *fsst.Table, buf []byte, offsets []int32) error {
	n := len(offsets) - 1
	// A single reservation keeps the loop free of allocations.
	v.Data = values.Reserve(v.Data, fsst.MaxSymbol*int(offsets[n]-offsets[0]+1))
	v.Offsets = slices.Grow(v.Offsets, n)
	text, end := v.Data[:cap(v.Data)], len(v.Data)
	ends := v.Offsets[len(v.Offsets) : len(v.Offsets)+n]
	for i := range ends {
		var err error
		if end, err = t.Decode(text, end, buf[offsets[i]:offsets[i+1]]); err != nil {
			return err
		}
		ends[i] = int32(end)
	}
	if end > math.MaxInt32 {
		return values.ErrTooLarge
	}
	v.Data, v.Offsets = text[:end], v.Offsets[:len(v.Offsets)+n]
	v.N += n
	return nil
}

// AppendText decodes codes and appends their text to dst.
func AppendText(t *fsst.Table, dst, codes []byte) ([]byte, error) {
	if t.Plain {
		return append(dst, codes...), nil
	}
	start := len(dst)
	dst = values.Reserve(dst, fsst.MaxSymbol*len(codes)+fsst.MaxSymbol)
	n, err := t.Decode(dst[:cap(dst)], start, codes)
	return dst[:n], err
}

// TrainText chooses symbols for texts like those in v. It returns nil if they would save too
// little.
func TrainText(v *values.Values) *fsst.Encoder { return fsst.Train(v.Data, v.Offsets[:v.N+1]) }

// CompressText returns the values with their texts compressed.
func CompressText(e *fsst.Encoder, v *values.Values) *values.Values {
	out := values.New(v.Shape)
	out.N = v.N
	out.Data, out.Offsets = e.Compress(v.Data, v.Offsets[:v.N+1])
	return out
}

// WrapText returns the description of compressed texts. inner describes the layout of the codes.
func WrapText(e *fsst.Encoder, inner pb.Codec) pb.Codec {
	return &pb.FSST{SymbolTable: e.Table(), Values: inner}
}

// A textEncoder encodes texts that have been compressed by symbols; another encoder lays out the
// codes.
type textEncoder struct {
	ChunkEncoder
	symbols *fsst.Encoder
}

// NewTextEncoder returns the encoder of texts that CompressText made. laidOut encodes the same
// texts as variable values.
func NewTextEncoder(symbols *fsst.Encoder, laidOut ChunkEncoder) ChunkEncoder {
	return &textEncoder{laidOut, symbols}
}

func (c *textEncoder) Codec() pb.Codec { return WrapText(c.symbols, c.ChunkEncoder.Codec()) }
