package arrowipc

import (
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// Fields of the flatbuffer table BodyCompression.
const (
	compressionCodec  slot = 4
	compressionMethod slot = 6 // 0, the only method: each buffer by itself
)

// A codec is the compression of a message's buffers.
type codec uint8

const (
	codecNone codec = iota
	codecLZ4
	codecZSTD
)

// Maximal expansion of a byte of compressed data: in LZ4 a byte of a run length, in ZSTD a block of one
// repeated byte. A larger claim is refused without decompression.
const (
	mostPerByteLZ4  = 255
	mostPerByteZSTD = 128 << 10 / 4
	mostForFree     = 64 << 10 // small claims, where block headers matter, pass
)

// readCodec returns the compression of the record batch t.
func readCodec(t table) (codec, error) {
	compression, ok := t.table(batchCompression)
	if !ok {
		return codecNone, nil
	}
	if method := compression.uint8(compressionMethod); method != 0 {
		return codecNone, unsupported(nil, "compression method %d", method)
	}
	switch number := compression.uint8(compressionCodec); number {
	case 0:
		return codecLZ4, nil
	case 1:
		return codecZSTD, nil
	default:
		return codecNone, unsupported(nil, "compression codec %d; LZ4_FRAME and ZSTD are read", number)
	}
}

// content returns the content of a buffer of the body. If the message is compressed and the
// buffer is not empty, the buffer begins with the size of the content:
//
//	i64  size; -1 means that the content is not compressed
func (d *decoder) content(n *node, buf []byte) ([]byte, error) {
	if len(buf) == 0 {
		return nil, nil
	}
	if d.codec == codecNone {
		d.alias()
		return buf, nil
	}
	if len(buf) < 8 {
		return nil, invalid(n, "compressed buffer of %d bytes", len(buf))
	}
	size := int64(binary.LittleEndian.Uint64(buf))
	buf = buf[8:]
	if size == -1 {
		d.alias()
		return buf, nil
	}
	return d.decompress(n, buf, size)
}

// decompresses a buffer to size bytes, the size that the stream claims. The claim is bounded by the maximal
// expansion of the codec, so that a small body cannot cause a huge allocation.
func (d *decoder) decompress(n *node, buf []byte, size int64) ([]byte, error) {
	most := int64(mostPerByteLZ4)
	if d.codec == codecZSTD {
		most = mostPerByteZSTD
	}
	if size < 0 || size > mostForFree+most*int64(len(buf)) {
		return nil, invalid(n, "%d compressed bytes claim to hold %d", len(buf), size)
	}
	if err := d.take(n, size); err != nil {
		return nil, err
	}
	d.used += size
	content := make([]byte, (size+alignment-1)&^(alignment-1))[:size]
	var err error
	if d.codec == codecLZ4 {
		err = decodeLZ4Frame(content, buf)
	} else {
		err = d.reader.zstd.decode(content, buf)
	}
	if err != nil {
		return nil, invalid(n, "decompress: %v", err)
	}
	return content, nil
}

// A zstdDecoder decodes ZSTD frames; its zero value is ready. Each stream has one, because a decoder is
// expensive to make and must not leak bytes between streams.
type zstdDecoder struct {
	decoder *zstd.Decoder
}

// decode fills dst with the content of src. It fails if the content is longer or shorter than dst.
func (z *zstdDecoder) decode(dst, src []byte) error {
	if z.decoder == nil {
		decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return fmt.Errorf("start zstd: %w", err)
		}
		z.decoder = decoder
	}
	// The capacity is the limit. The decoder takes a capacity of zero for no limit.
	if len(dst) == 0 {
		dst = make([]byte, 0, 1)
	}
	want := len(dst)
	got, err := z.decoder.DecodeAll(src, dst[:0:max(want, 1)])
	if err != nil {
		return fmt.Errorf("zstd: %w", err)
	}
	if len(got) != want {
		return fmt.Errorf("zstd: %d bytes instead of %d", len(got), want)
	}
	return nil
}
