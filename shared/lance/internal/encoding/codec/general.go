package codec

import (
	"tiltyard/shared/lance/internal/encoding/compress"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// compressedChunks are chunks whose first buffer is compressed as a whole; further buffers are
// plain. For variable values that buffer holds offsets and bytes, for runs the values.
type compressedChunks struct {
	scheme pb.CompressionScheme
	inner  ChunkDecoder
}

func newCompressedChunks(c *pb.General, s *values.Shape) (ChunkDecoder, error) {
	if err := compress.CheckScheme(c.Compression.Scheme); err != nil {
		return nil, err
	}
	if c.Values == nil {
		return nil, unsupportedCodec("compressed values", nil)
	}
	inner, err := NewChunkDecoder(c.Values, s)
	return compressedChunks{c.Compression.Scheme, inner}, err
}

func (c compressedChunks) Buffers() int { return c.inner.Buffers() }

// Decode decompresses the first buffer of a chunk. Further buffers, such as run lengths, are stored
// plain.
func (c compressedChunks) Decode(dst *values.Values, bufs [][]byte, n int) error {
	first, err := compress.Decompress(c.scheme, bufs[0], dst.Room)
	if err != nil {
		return err
	}
	inner := append([][]byte{first}, bufs[1:]...)
	return c.inner.Decode(dst, inner, n)
}

// CompressedEncoder compresses the first buffer of each chunk of another encoder.
type CompressedEncoder struct {
	ChunkEncoder
	Otherwise     ChunkEncoder // for when that does not help
	compressor    *compress.Compressor
	scratch       []byte
	plain, packed int // bytes of first buffers so far
}

// NewCompressedEncoder returns an encoder that compresses the chunks of inner. If that saves
// nothing, the page uses otherwise instead.
func NewCompressedEncoder(inner, otherwise ChunkEncoder, c *compress.Compressor) *CompressedEncoder {
	return &CompressedEncoder{ChunkEncoder: inner, Otherwise: otherwise, compressor: c}
}

// Forget sets the counts of bytes to 0, for a new page.
func (c *CompressedEncoder) Forget() { c.plain, c.packed = 0, 0 }

// minCompressed is the least total size of the first buffers of a page that is worth compressing.
const minCompressed = 4 << 10

// Shrinks reports whether compression has saved bytes in the chunks so far.
func (c *CompressedEncoder) Shrinks() bool { return c.plain >= minCompressed && c.packed < c.plain }

// Codec returns the description of the compressed chunks.
func (c *CompressedEncoder) Codec() pb.Codec { return c.compressor.Wrap(c.ChunkEncoder.Codec()) }

// Append appends a chunk whose first buffer is compressed.
func (c *CompressedEncoder) Append(b []byte, from, to int, sizes []int) []byte {
	start := len(b)
	c.scratch = c.ChunkEncoder.Append(c.scratch[:0], from, to, sizes)
	first := c.scratch[:sizes[0]]
	rest := c.scratch[(sizes[0]+7)&^7:]
	b = c.compressor.Append(b, first)
	c.plain += len(first)
	c.packed += len(b) - start
	sizes[0] = len(b) - start
	return append(PadTo8(b, start), rest...)
}
