package encoding

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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
	first, err := decompress(c.scheme, bufs[0], dst.room)
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

// decompress returns the bytes of a compressed buffer, for which it asks room. An empty
// buffer stands for itself.
func decompress(scheme pb.CompressionScheme, b []byte, room Room) ([]byte, error) {
	switch {
	case len(b) == 0:
		return b, nil
	case scheme == pb.LZ4:
		return decompressLZ4(b, room)
	}
	return decompressZstd(b, room)
}

// lz4MaxRatio is how much an LZ4 block can grow: a byte of a length stands for 255.
const lz4MaxRatio = 255

func decompressLZ4(b []byte, room Room) ([]byte, error) {
	if len(b) < 4 {
		return nil, corruptf("lz4 buffer of %d bytes", len(b))
	}
	size := int(binary.LittleEndian.Uint32(b))
	if size > maxDecompressed || size > lz4MaxRatio*len(b) {
		return nil, corruptf("lz4 buffer of %d bytes claims to hold %d", len(b), size)
	}
	if err := room.Take(size); err != nil {
		return nil, err
	}
	out := alignedBytes(size)
	n, err := lz4.UncompressBlock(b[4:], out)
	if err != nil || n != size {
		return nil, corruptf("lz4 block of %d bytes does not hold %d: %v", len(b), size, err)
	}
	return out, nil
}

const zstdMagic = 0xFD2FB528

func decompressZstd(b []byte, room Room) ([]byte, error) {
	bare := len(b) >= 5 && binary.LittleEndian.Uint32(b) == zstdMagic && b[4]&0x08 == 0
	if bare {
		return decodeFrame(b, maxDecompressed, room)
	}
	if len(b) < 8 {
		return nil, corruptf("zstd buffer of %d bytes", len(b))
	}
	size := binary.LittleEndian.Uint64(b)
	if size > maxDecompressed {
		return nil, corruptf("zstd buffer claims to hold %d bytes", size)
	}
	out, err := decodeFrame(b[8:], int(size), room)
	if err == nil && len(out) != int(size) {
		err = corruptf("zstd buffer holds %d bytes and claims %d", len(out), size)
	}
	return out, err
}

// decodeFrame returns the bytes of a frame, which are no more than most.
func decodeFrame(frame []byte, most int, room Room) ([]byte, error) {
	var header zstd.Header
	if err := header.Decode(frame); err != nil {
		return nil, corruptf("zstd frame: %v", err)
	}
	if !header.HasFCS {
		return readFrame(frame, most, room)
	}
	if header.FrameContentSize > uint64(most) {
		return nil, corruptf("zstd frame of %d bytes where %d are claimed", header.FrameContentSize, most)
	}
	size := int(header.FrameContentSize)
	if err := room.Take(size); err != nil {
		return nil, err
	}
	decoder, err := zstdDecoder()
	if err != nil {
		return nil, err
	}
	defer zstdDecoders.Put(decoder)
	// The decoder makes no more than there is room for.
	out, err := decoder.DecodeAll(frame, alignedBytes(size)[:0:size])
	if err != nil {
		return nil, corruptf("zstd frame: %v", err)
	}
	return out, nil
}

// frameStep is by how much the room for a frame of unknown size grows at least.
const frameStep = 64 << 10

// readFrame returns the bytes of a frame that does not say how many there are.
func readFrame(frame []byte, most int, room Room) ([]byte, error) {
	decoder, err := zstdDecoder()
	if err != nil {
		return nil, err
	}
	defer zstdDecoders.Put(decoder)
	if err := decoder.Reset(bytes.NewReader(frame)); err != nil {
		return nil, corruptf("zstd frame: %v", err)
	}
	defer func() { _ = decoder.Reset(nil) }() // it must not hold on to the frame
	var out []byte
	for {
		if len(out) == cap(out) {
			step := max(cap(out), frameStep)
			if err := room.Take(step); err != nil {
				return nil, err
			}
			out = reserve(out, step)
		}
		n, err := decoder.Read(out[len(out):cap(out)])
		out = out[:len(out)+n]
		switch {
		case len(out) > most:
			return nil, corruptf("zstd frame of more than %d bytes", most)
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, corruptf("zstd frame: %v", err)
		}
	}
}

func zstdDecoder() (*zstd.Decoder, error) {
	if decoder, ok := zstdDecoders.Get().(*zstd.Decoder); ok {
		return decoder, nil
	}
	decoder, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxMemory(maxDecompressed),
		zstd.WithDecoderMaxWindow(maxZstdWindow),
		zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		return nil, fmt.Errorf("make a zstd decoder: %w", err)
	}
	return decoder, nil
}

// zstdDecoders are decoders that no one uses at the moment; making one is expensive.
var zstdDecoders sync.Pool
