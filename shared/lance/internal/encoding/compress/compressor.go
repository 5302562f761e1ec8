package compress

import (
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// A Compressor compresses buffers into the form that decompress.go describes. It keeps the state of
// the algorithms from one buffer to the next, because that is large.
type Compressor struct {
	Compression
	lz4   *lz4Encoder // nil until there is something to compress: it is large
	zstd  *zstd.Encoder
	noise *zstd.Encoder // gives up early on data that looks like noise
}

// NewCompressor returns a compressor of texts or other bytes.
func NewCompressor(c Compression) (*Compressor, error) {
	level := zstd.SpeedDefault
	if c.Level != 0 {
		level = zstd.EncoderLevelFromZstd(c.Level)
	}
	return newCompressorLevel(c, level)
}

// NewNumberCompressors returns compressors for chunks of numbers; the caller tries all and keeps
// the smallest result. Without a requested level, one of them uses the fastest level: its short
// matches often suit numbers better than the default.
func NewNumberCompressors(c Compression) ([]*Compressor, error) {
	usual, err := NewCompressor(c)
	if err != nil || c.Scheme != pb.Zstd || c.Level != 0 {
		return []*Compressor{usual}, err
	}
	fastest, err := newCompressorLevel(c, zstd.SpeedFastest)
	return []*Compressor{fastest, usual}, err
}

// newCompressorLevel makes two zstd encoders: one always codes literals by entropy, the other gives
// up early on noise.
func newCompressorLevel(c Compression, level zstd.EncoderLevel) (*Compressor, error) {
	if c.Scheme != pb.Zstd {
		return &Compressor{Compression: c}, nil
	}
	packer, err := newZstd(zstd.WithEncoderLevel(level), zstd.WithAllLitEntropyCompression(true))
	if err != nil {
		return nil, err
	}
	noise, err := newZstd(zstd.WithEncoderLevel(level))
	if err != nil {
		return nil, err
	}
	return &Compressor{Compression: c, zstd: packer, noise: noise}, nil
}

// newZstd returns an encoder for single-threaded use, without checksums and with little memory.
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

// looksLikeNoise reports whether all byte values are about equally frequent in a sample of b.
func looksLikeNoise(b []byte) bool {
	var counts [256]int
	step := max(1, len(b)/1024)
	n, pairs := 0, 0
	for i := 0; i < len(b); i += step {
		pairs += counts[b[i]] // of equal bytes
		counts[b[i]]++
		n++
	}
	// In noise, one of 256 pairs of sampled bytes is equal. There are n²/2 pairs; allow a quarter more.
	return 256*2*pairs < n*n*5/4
}

// Wrap returns the description of compressed buffers whose plain form inner describes.
func (c *Compressor) Wrap(inner pb.Codec) pb.Codec {
	return &pb.General{Compression: pb.BufferCompression{Scheme: c.Scheme}, Values: inner}
}

// Append appends the compressed form of plain to b.
func (c *Compressor) Append(b, plain []byte) []byte {
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

// CompressEach returns variable values that are compressed one by one. An empty value stays empty.
func (c *Compressor) CompressEach(v *values.Values) (*values.Values, error) {
	out := values.New(v.Shape)
	for i := range v.N {
		if value := v.Bytes(i); len(value) > 0 {
			out.Data = c.Append(out.Data, value)
		}
		if err := out.EndValue(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// A Compression is the choice of general compression for a column.
type Compression struct {
	Scheme pb.CompressionScheme // 0: they are not
	Level  int                  // 0: the default
	None   bool                 // compression is explicitly disabled
}
