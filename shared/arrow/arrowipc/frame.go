package arrowipc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The kinds of messages in a stream, with the numbers of Message.header_type.
const (
	headerSchema          = 1
	headerDictionaryBatch = 2
	headerRecordBatch     = 3
)

// Fields of the flatbuffer table Message.
const (
	messageVersion    slot = 4
	messageHeaderType slot = 6
	messageHeader     slot = 8
	messageBodyLength slot = 10
)

// Metadata versions. V4 belongs to Arrow 0.8 to 0.17 and differs from V5 in unions only,
// which are not supported.
const (
	metadataV4 = 3
	metadataV5 = 4
)

const (
	continuation = 0xFFFFFFFF
	fileMagic    = "ARROW1"

	// Memory for a body grows with the bytes that have arrived: a claim of 256 MiB gets
	// firstRead bytes until then. Each step multiplies the received bytes, so about a third
	// of the bytes are copied again.
	firstRead  = 1 << 20
	readGrowth = 4
)

// A message is one frame of the stream. Its body has not been read yet.
type message struct {
	kind   uint8
	header table
	meta   *flat
	body   int64
}

// readMessage reads the frame and the metadata of the next message. It returns io.EOF at
// the end-of-stream marker, and if the input ends between messages.
func (r *Reader) readMessage() (message, error) {
	size, err := r.readPrefix()
	if err != nil {
		return message{}, err
	}
	data, err := r.read(size)
	if err != nil {
		return message{}, err
	}
	meta := newFlat(data)
	root := meta.root()
	m := message{
		kind: root.uint8(messageHeaderType),
		meta: meta,
		body: root.int64(messageBodyLength),
	}
	version := root.int16(messageVersion, 0)
	m.header, _ = root.table(messageHeader)
	switch {
	case meta.err != nil:
		return message{}, meta.err
	case version != metadataV4 && version != metadataV5:
		return message{}, unsupported(nil, "metadata version V%d; V4 and V5 are read", int(version)+1)
	case m.header.f == nil:
		return message{}, invalid(nil, "message without a header")
	case m.body < 0:
		return message{}, invalid(nil, "body length %d", m.body)
	case m.body > r.limits.MaxMessageBytes:
		return message{}, tooLarge(nil, "body of %d bytes; at most %d are accepted, send smaller batches",
			m.body, r.limits.MaxMessageBytes)
	}
	return m, nil
}

// readPrefix reads the marker and the length of the metadata.
func (r *Reader) readPrefix() (int64, error) {
	var b [4]byte
	n, err := io.ReadFull(r.src, b[:])
	if errors.Is(err, io.EOF) && n == 0 {
		return 0, io.EOF
	}
	if err != nil {
		return 0, readError(err)
	}
	if r.message == 0 && string(b[:]) == fileMagic[:4] {
		return 0, invalid(nil, "this is an Arrow IPC file; an Arrow IPC stream was expected")
	}
	marked := binary.LittleEndian.Uint32(b[:]) == continuation
	if marked {
		if _, err := io.ReadFull(r.src, b[:]); err != nil {
			return 0, readError(err)
		}
	}
	return r.checkPrefix(int64(int32(binary.LittleEndian.Uint32(b[:]))), marked)
}

// checkPrefix checks the metadata length of a message. 0 ends the stream. marked is true if a continuation
// marker preceded the length, which distinguishes a too large message from another format.
func (r *Reader) checkPrefix(size int64, marked bool) (int64, error) {
	tooLong := size > r.limits.MaxMetadataBytes
	switch {
	case size == 0:
		r.ended = true
		return 0, io.EOF
	case size < 0 || r.message == 0 && tooLong && !marked:
		// Text, or another format: its first four bytes are not a plausible length.
		return 0, invalid(nil, "its first bytes do not begin a message; an Arrow IPC stream was expected")
	case tooLong:
		return 0, tooLarge(nil, "metadata of %d bytes; at most %d are accepted", size, r.limits.MaxMetadataBytes)
	}
	return size, nil
}

// read reads the next n bytes into new memory.
func (r *Reader) read(n int64) ([]byte, error) {
	size := min(n, firstRead)
	if left, ok := r.src.(interface{ Len() int }); ok {
		if int64(left.Len()) < n {
			return nil, readError(io.ErrUnexpectedEOF)
		}
		size = n // the bytes are in memory already
	}
	if err := r.take(size); err != nil {
		return nil, err
	}
	buf := make([]byte, size)
	for got := 0; ; {
		if _, err := io.ReadFull(r.src, buf[got:]); err != nil {
			return nil, readError(err)
		}
		if got = len(buf); int64(got) == n {
			return buf, nil
		}
		size = min(n, readGrowth*int64(got))
		if err := r.take(size); err != nil {
			return nil, err
		}
		grown := make([]byte, size)
		copy(grown, buf)
		buf = grown
		if err := r.take(-int64(got)); err != nil {
			return nil, err
		}
	}
}

// readError distinguishes a truncated input, which is the sender's fault, from a failed read.
func readError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return invalid(nil, "truncated: the input ends within the message")
	}
	return fmt.Errorf("read arrow stream: %w", err)
}
