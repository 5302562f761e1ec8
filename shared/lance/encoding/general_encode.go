package encoding

import (
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"tiltyard/shared/lance/pb"
)

// A compressor compresses buffers; see decode_general.go for what they become. It keeps
// what the algorithms need from one buffer to the next.
type compressor struct {
	compression
	lz4     lz4.Compressor
	scratch []byte
	zstd    *zstd.Encoder
}

func newCompressor(c compression) (*compressor, error) {
	if c.scheme != pb.Zstd {
		return &compressor{compression: c}, nil
	}
	level := zstd.SpeedDefault
	if c.level != 0 {
		level = zstd.EncoderLevelFromZstd(c.level)
	}
	encoder, err := zstd.NewWriter(nil,
		zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(false),
		zstd.WithLowerEncoderMem(true),
		zstd.WithEncoderLevel(level))
	if err != nil {
		return nil, fmt.Errorf("make a zstd encoder: %w", err)
	}
	return &compressor{compression: c, zstd: encoder}, nil
}

// wrap describes what has been compressed.
func (c *compressor) wrap(inner pb.Codec) pb.Codec {
	return &pb.General{Compression: pb.BufferCompression{Scheme: c.scheme}, Values: inner}
}

// append appends the compressed plain to b.
func (c *compressor) append(b, plain []byte) []byte {
	if c.scheme == pb.Zstd {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(plain)))
		return c.zstd.EncodeAll(plain, b)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(plain)))
	if bound := lz4.CompressBlockBound(len(plain)); len(c.scratch) < bound {
		c.scratch = make([]byte, bound)
	}
	// With this much room it writes a block whether that is shorter or not.
	n, err := c.lz4.CompressBlock(plain, c.scratch)
	if err != nil || n == 0 {
		return appendLiterals(b, plain)
	}
	return append(b, c.scratch[:n]...)
}

// appendLiterals appends an LZ4 block that says plain in so many words.
func appendLiterals(b, plain []byte) []byte {
	n := len(plain)
	if n < 15 {
		return append(append(b, byte(n<<4)), plain...)
	}
	b = append(b, 15<<4)
	for n -= 15; n >= 255; n -= 255 {
		b = append(b, 255)
	}
	return append(append(b, byte(n)), plain...)
}

// compressedEncoder are the chunks of another encoder with the first buffer of each
// compressed.
type compressedEncoder struct {
	chunkEncoder
	otherwise     chunkEncoder // for when that does not help
	compressor    *compressor
	scratch       []byte
	plain, packed int // bytes of first buffers so far
}

// minCompressed is the least that first buffers of a page must be to be compressed.
const minCompressed = 4 << 10

// shrinks reports whether it was worth it for the chunks so far.
func (c *compressedEncoder) shrinks() bool { return c.plain >= minCompressed && c.packed < c.plain }

func (c *compressedEncoder) codec() pb.Codec { return c.compressor.wrap(c.chunkEncoder.codec()) }

func (c *compressedEncoder) append(b []byte, from, to int, sizes []int) []byte {
	start := len(b)
	c.scratch = c.chunkEncoder.append(c.scratch[:0], from, to, sizes)
	first := c.scratch[:sizes[0]]
	rest := c.scratch[(sizes[0]+7)&^7:]
	b = c.compressor.append(b, first)
	c.plain += len(first)
	c.packed += len(b) - start
	sizes[0] = len(b) - start
	return append(padTo8(b, start), rest...)
}

// compressEach returns variable values that are compressed one by one. Empty ones stay
// empty.
func (c *compressor) compressEach(v *values) (*values, error) {
	out := newValues(v.shape)
	for i := range v.n {
		if value := v.bytes(i); len(value) > 0 {
			out.data = c.append(out.data, value)
		}
		if err := out.endValue(); err != nil {
			return nil, err
		}
	}
	return out, nil
}
