// Package compress compresses and decompresses whole buffers by LZ4 and Zstd, which the format
// calls general compression. [Decompress] documents the stored forms.
package compress

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
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// General compression is applied to a whole buffer:
//
//	LZ4    u32 uncompressed size, then one LZ4 block
//	Zstd   u64 uncompressed size, then one frame; or a bare frame, from some writers
//
// A bare frame is recognised by its magic number and by the reserved bit of the frame header, which
// is 0. A size prefix with the same bytes would claim terabytes.
//
// The 11 bytes "hello hello" as one LZ4 block of literals only, for example, are
//
//	0b 00 00 00         11 bytes when decompressed
//	b0                  11 literals, no match
//	68 65 6c 6c 6f …    the literals

// maxDecompressed bounds the decompressed size of one buffer.
const maxDecompressed = 1 << 30

// maxZstdWindow bounds the memory that a frame without a size may claim.
const maxZstdWindow = 128 << 20

// CheckScheme returns an error unless Decompress supports the scheme.
func CheckScheme(scheme pb.CompressionScheme) error {
	if scheme != pb.LZ4 && scheme != pb.Zstd {
		return fmt.Errorf("%w: compression scheme %d", lance.ErrUnsupported, scheme)
	}
	return nil
}

// Decompress returns the bytes of a compressed buffer. It takes their memory from room first. An
// empty buffer stands for itself.
func Decompress(scheme pb.CompressionScheme, b []byte, room values.Room) ([]byte, error) {
	switch {
	case len(b) == 0:
		return b, nil
	case scheme == pb.LZ4:
		return decompressLZ4(b, room)
	}
	return decompressZstd(b, room)
}

// lz4MaxRatio bounds the growth of an LZ4 block: one length byte adds at most 255 bytes.
const lz4MaxRatio = 255

// decompressLZ4 decodes u32 size and an LZ4 block. A size that no block of this length can reach is
// rejected before it is allocated.
func decompressLZ4(b []byte, room values.Room) ([]byte, error) {
	if len(b) < 4 {
		return nil, lance.Corruptf("lz4 buffer of %d bytes", len(b))
	}
	size := int(binary.LittleEndian.Uint32(b))
	if size > maxDecompressed || size > lz4MaxRatio*len(b) {
		return nil, lance.Corruptf("lz4 buffer of %d bytes claims to hold %d", len(b), size)
	}
	if err := room.Take(size); err != nil {
		return nil, err
	}
	out := values.AlignedBytes(size)
	n, err := lz4.UncompressBlock(b[4:], out)
	if err != nil || n != size {
		return nil, lance.Corruptf("lz4 block of %d bytes does not hold %d: %v", len(b), size, err)
	}
	return out, nil
}

const zstdMagic = 0xFD2FB528

// decompressZstd decodes either a bare frame with a content size, or u64 size and a frame.
func decompressZstd(b []byte, room values.Room) ([]byte, error) {
	bare := len(b) >= 5 && binary.LittleEndian.Uint32(b) == zstdMagic && b[4]&0x08 == 0
	if bare {
		return decodeFrame(b, maxDecompressed, room)
	}
	if len(b) < 8 {
		return nil, lance.Corruptf("zstd buffer of %d bytes", len(b))
	}
	size := binary.LittleEndian.Uint64(b)
	if size > maxDecompressed {
		return nil, lance.Corruptf("zstd buffer claims to hold %d bytes", size)
	}
	out, err := decodeFrame(b[8:], int(size), room)
	if err == nil && len(out) != int(size) {
		err = lance.Corruptf("zstd buffer holds %d bytes and claims %d", len(out), size)
	}
	return out, err
}

// decodeFrame returns the bytes of a frame, which are no more than most.
func decodeFrame(frame []byte, most int, room values.Room) ([]byte, error) {
	var header zstd.Header
	if err := header.Decode(frame); err != nil {
		return nil, lance.Corruptf("zstd frame: %v", err)
	}
	if !header.HasFCS {
		return readFrame(frame, most, room)
	}
	if header.FrameContentSize > uint64(most) {
		return nil, lance.Corruptf("zstd frame of %d bytes where %d are claimed", header.FrameContentSize, most)
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
	out, err := decoder.DecodeAll(frame, values.AlignedBytes(size)[:0:size])
	if err != nil {
		return nil, lance.Corruptf("zstd frame: %v", err)
	}
	return out, nil
}

// frameStep is the least number of bytes by which the room for a frame of unknown size grows.
const frameStep = 64 << 10

// readFrame returns the bytes of a frame whose header does not give their number.
func readFrame(frame []byte, most int, room values.Room) ([]byte, error) {
	decoder, err := zstdDecoder()
	if err != nil {
		return nil, err
	}
	defer zstdDecoders.Put(decoder)
	if err := decoder.Reset(bytes.NewReader(frame)); err != nil {
		return nil, lance.Corruptf("zstd frame: %v", err)
	}
	defer func() { _ = decoder.Reset(nil) }() // it must not hold on to the frame
	var out []byte
	for {
		if len(out) == cap(out) {
			step := max(cap(out), frameStep)
			if err := room.Take(step); err != nil {
				return nil, err
			}
			out = values.Reserve(out, step)
		}
		n, err := decoder.Read(out[len(out):cap(out)])
		out = out[:len(out)+n]
		switch {
		case len(out) > most:
			return nil, lance.Corruptf("zstd frame of more than %d bytes", most)
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, lance.Corruptf("zstd frame: %v", err)
		}
	}
}

// zstdDecoder returns a pooled decoder with bounded output and window sizes.
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

// zstdDecoders are idle decoders; making one is expensive.
var zstdDecoders sync.Pool
