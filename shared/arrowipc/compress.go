package arrowipc

import (
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// Fields of the flatbuffer table BodyCompression.
const (
	compressionCodec  slot = 4
	compressionMethod slot = 6 // 0: each buffer by itself, the only one there is
)

// A codec is the compression of a message's buffers.
type codec uint8

const (
	codecNone codec = iota
	codecLZ4
	codecZSTD
)

// The most bytes to which a byte of compressed data can expand: in LZ4 a byte of a run
// length, in ZSTD a block of one repeated byte. A larger claim is refused without an
// attempt.
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

// A zstdDecoder decodes ZSTD frames; its zero value is ready. It exists once per stream,
// since a decoder is expensive to make and must not carry bytes from one to another.
type zstdDecoder struct {
	decoder *zstd.Decoder
}

// decode fills dst with what src holds, or fails when src holds more or less.
func (z *zstdDecoder) decode(dst, src []byte) error {
	if z.decoder == nil {
		decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return fmt.Errorf("start zstd: %w", err)
		}
		z.decoder = decoder
	}
	// The capacity is the limit. A decoder that finds it zero takes that as none set.
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
