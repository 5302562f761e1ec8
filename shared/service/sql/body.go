package sql

import (
	"bytes"
	"io"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/protocol"
)

// A body is the Arrow stream of rows, as an upload. It encodes a batch when the one before has been read, so that one
// batch is in memory at a time.
type body struct {
	next   func() (arrow.RecordBatch, error, bool)
	stop   func()
	writer *arrowipc.Writer
	buffer bytes.Buffer
	err    error // after which nothing more is read
}

func newBody(rows *protocol.Rows) *body {
	b := new(body)
	b.next, b.stop = iter.Pull2(rows.Batches)
	b.writer = arrowipc.NewStreamWriter(&b.buffer, rows.Schema, arrowipc.Uncompressed)
	return b
}

// close ends the reading of the rows.
func (b *body) close() { b.stop() }

// Read reads the stream. An error of the rows ends it.
func (b *body) Read(p []byte) (int, error) {
	for b.buffer.Len() == 0 {
		if b.err != nil {
			return 0, b.err
		}
		b.buffer.Reset()
		b.fill()
	}
	return b.buffer.Read(p)
}

// fill encodes the next batch, or the end.
func (b *body) fill() {
	batch, err, ok := b.next()
	switch {
	case err != nil:
		b.err = err
	case ok:
		b.err = b.writer.Write(batch)
	default:
		if b.err = b.writer.Close(); b.err == nil {
			b.err = io.EOF
		}
	}
}
