package encoding

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
)

// General compression is applied to a whole buffer:
//
//	LZ4    u32 uncompressed size, then one LZ4 block
//	Zstd   u64 uncompressed size, then one frame; or a bare frame, from some writers
//
// A bare frame is told by its magic number, and by a bit of the frame header that is
// reserved and 0: a size prefix that looks like this would claim terabytes.

// maxDecompressed bounds what one compressed buffer may become.
const maxDecompressed = 1 << 30

// maxZstdWindow bounds the memory a frame without a size may ask for.
const maxZstdWindow = 128 << 20

// compressedChunks are chunks whose first buffer is compressed.
type compressedChunks struct {
	scheme pb.CompressionScheme
	inner  chunkCodec
}

func newCompressedChunks(c *pb.General, s *shape) (chunkCodec, error) {
	if err := checkScheme(c.Compression.Scheme); err != nil {
		return nil, err
	}
	if c.Values == nil {
		return nil, unsupportedCodec("compressed values", nil)
	}
	inner, err := newChunkCodec(c.Values, s)
	return compressedChunks{c.Compression.Scheme, inner}, err
}

func (c compressedChunks) buffers() int { return c.inner.buffers() }

func (c compressedChunks) decode(dst *values, bufs [][]byte, n int) error {
	first, err := decompress(c.scheme, bufs[0])
	if err != nil {
		return err
	}
	inner := append([][]byte{first}, bufs[1:]...)
	return c.inner.decode(dst, inner, n)
}

func checkScheme(scheme pb.CompressionScheme) error {
	if scheme != pb.LZ4 && scheme != pb.Zstd {
		return fmt.Errorf("%w: compression scheme %d", lance.ErrUnsupported, scheme)
	}
	return nil
}

// decompress returns the bytes of a compressed buffer. An empty one stands for itself.
func decompress(scheme pb.CompressionScheme, b []byte) ([]byte, error) {
	switch {
	case len(b) == 0:
		return b, nil
	case scheme == pb.LZ4:
		return decompressLZ4(b)
	}
	return decompressZstd(b)
}

// lz4MaxRatio is how much an LZ4 block can grow: a byte of a length stands for 255.
const lz4MaxRatio = 255

func decompressLZ4(b []byte) ([]byte, error) {
	if len(b) < 4 {
		return nil, corruptf("lz4 buffer of %d bytes", len(b))
	}
	size := int(binary.LittleEndian.Uint32(b))
	if size > maxDecompressed || size > lz4MaxRatio*len(b) {
		return nil, corruptf("lz4 buffer of %d bytes claims to hold %d", len(b), size)
	}
	out := alignedBytes(size)
	n, err := lz4.UncompressBlock(b[4:], out)
	if err != nil || n != size {
		return nil, corruptf("lz4 block of %d bytes does not hold %d: %v", len(b), size, err)
	}
	return out, nil
}

const zstdMagic = 0xFD2FB528

func decompressZstd(b []byte) ([]byte, error) {
	bare := len(b) >= 5 && binary.LittleEndian.Uint32(b) == zstdMagic && b[4]&0x08 == 0
	if bare {
		return decodeFrame(b, 0)
	}
	if len(b) < 8 {
		return nil, corruptf("zstd buffer of %d bytes", len(b))
	}
	size := binary.LittleEndian.Uint64(b)
	if size > maxDecompressed {
		return nil, corruptf("zstd buffer claims to hold %d bytes", size)
	}
	out, err := decodeFrame(b[8:], int(size))
	if err == nil && len(out) != int(size) {
		err = corruptf("zstd buffer holds %d bytes and claims %d", len(out), size)
	}
	return out, err
}

// firstDecompressed is what is allocated before a frame has shown that it holds more.
const firstDecompressed = 1 << 20

func decodeFrame(frame []byte, size int) ([]byte, error) {
	decoder, _ := zstdDecoders.Get().(*zstd.Decoder)
	if decoder == nil {
		var err error
		decoder, err = zstd.NewReader(nil,
			zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxMemory(maxDecompressed),
			zstd.WithDecoderMaxWindow(maxZstdWindow),
			zstd.WithDecodeAllCapLimit(false))
		if err != nil {
			return nil, fmt.Errorf("make a zstd decoder: %w", err)
		}
	}
	defer zstdDecoders.Put(decoder)
	out, err := decoder.DecodeAll(frame, alignedBytes(min(size, firstDecompressed))[:0])
	if err != nil {
		return nil, corruptf("zstd frame: %v", err)
	}
	return out, nil
}

// zstdDecoders are decoders that no one uses at the moment; making one is expensive.
var zstdDecoders sync.Pool
