package encoding

import (
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"tiltyard/shared/lance/pb"
)

// A compressor compresses buffers; see decode_general.go for what they become. It keeps
// what the algorithms need from one buffer to the next.
type compressor struct {
	compression
	lz4   *lz4Encoder // nil until there is something to compress: it is large
	zstd  *zstd.Encoder
	noise *zstd.Encoder // soon gives up, for what looks like noise
}

// newCompressor returns a compressor of texts or other bytes.
func newCompressor(c compression) (*compressor, error) {
	level := zstd.SpeedDefault
	if c.level != 0 {
		level = zstd.EncoderLevelFromZstd(c.level)
	}
	return newCompressorLevel(c, level)
}

// newNumberCompressors returns compressors of chunks of numbers, to choose from. Unless a
// level is asked for one of them is the fastest: it looks for short matches, by which
// numbers often become smaller than by the default.
func newNumberCompressors(c compression) ([]*compressor, error) {
	usual, err := newCompressor(c)
	if err != nil || c.scheme != pb.Zstd || c.level != 0 {
		return []*compressor{usual}, err
	}
	fastest, err := newCompressorLevel(c, zstd.SpeedFastest)
	return []*compressor{fastest, usual}, err
}

func newCompressorLevel(c compression, level zstd.EncoderLevel) (*compressor, error) {
	if c.scheme != pb.Zstd {
		return &compressor{compression: c}, nil
	}
	packer, err := newZstd(zstd.WithEncoderLevel(level), zstd.WithAllLitEntropyCompression(true))
	if err != nil {
		return nil, err
	}
	noise, err := newZstd(zstd.WithEncoderLevel(level))
	if err != nil {
		return nil, err
	}
	return &compressor{compression: c, zstd: packer, noise: noise}, nil
}

func newZstd(options ...zstd.EOption) (*zstd.Encoder, error) {
	encoder, err := zstd.NewWriter(nil, append(options,
		zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(false),
		zstd.WithLowerEncoderMem(true))...)
	if err != nil {
		return nil, fmt.Errorf("make a zstd encoder: %w", err)
	}
	return encoder, nil
}

// looksLikeNoise reports whether all bytes are about equally frequent in a sample.
func looksLikeNoise(b []byte) bool {
	var counts [256]int
	step := max(1, len(b)/1024)
	n, pairs := 0, 0
	for i := 0; i < len(b); i += step {
		pairs += counts[b[i]] // of equal bytes
		counts[b[i]]++
		n++
	}
	// One of 256 pairs is expected then.
	return 256*2*pairs < n*n*5/4
}

// wrap describes what has been compressed.
func (c *compressor) wrap(inner pb.Codec) pb.Codec {
	return &pb.General{Compression: pb.BufferCompression{Scheme: c.scheme}, Values: inner}
}

// append appends the compressed plain to b.
func (c *compressor) append(b, plain []byte) []byte {
	if c.zstd != nil {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(plain)))
		if looksLikeNoise(plain) {
			return c.noise.EncodeAll(plain, b)
		}
		return c.zstd.EncodeAll(plain, b)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(plain)))
	if c.lz4 == nil {
		c.lz4 = new(lz4Encoder)
	}
	return c.lz4.append(b, plain)
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
