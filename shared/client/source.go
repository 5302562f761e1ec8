package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/arrow/arrowipc"
)

// A Source yields the rows of an upload.
type Source struct {
	Schema *arrow.Schema
	// Batches yields the rows in batches of Schema. It is ranged over again when the upload is
	// repeated. An error ends the upload, and nothing is stored. Nil means no rows.
	Batches iter.Seq2[arrow.RecordBatch, error]
	// Once means that Batches can be ranged over only once, so the upload is not repeated.
	Once bool
}

// Batches returns a source of batches. The caller keeps ownership of them.
func Batches(schema *arrow.Schema, batches ...arrow.RecordBatch) Source {
	return Source{Schema: schema, Batches: func(yield func(arrow.RecordBatch, error) bool) {
		for _, batch := range batches {
			if !yield(batch, nil) {
				return
			}
		}
	}}
}

// FromReader returns a source of the rows of a reader, such as a Parquet reader. It can be read
// once.
func FromReader(r array.RecordReader) Source {
	return Source{Schema: r.Schema(), Once: true, Batches: func(yield func(arrow.RecordBatch, error) bool) {
		for r.Next() {
			if !yield(r.RecordBatch(), nil) {
				return
			}
		}
		if err := r.Err(); err != nil {
			yield(nil, err)
		}
	}}
}

// Batches are encoded in pieces of about pieceBytes. The first piece has firstPieceRows.
const (
	pieceBytes     = 1 << 20
	firstPieceRows = 1 << 10
	maxPieceRows   = 1 << 20
)

// open returns a body that encodes the rows as an Arrow stream.
func (s *Source) open(ctx context.Context) *rowsBody {
	b := &rowsBody{ctx: ctx, piece: firstPieceRows}
	schema := s.Schema
	if schema == nil {
		schema = arrow.NewSchema(nil, nil)
	}
	// LZ4, as LanceDB clients use it, because every server of the protocol can read it.
	b.stream = arrowipc.NewStreamWriter(&b.encoded, schema, arrowipc.LZ4)
	batches := s.Batches
	if batches == nil {
		batches = func(func(arrow.RecordBatch, error) bool) {}
	}
	b.next, b.stop = iter.Pull2(batches)
	return b
}

// rowsBody is the body of an upload. It reads the next batch of its source when the connection has
// accepted the previous one.
type rowsBody struct {
	ctx    context.Context
	closed atomic.Bool

	mu      sync.Mutex // held while Read runs; guards the rest
	stream  *arrowipc.Writer
	next    func() (arrow.RecordBatch, error, bool)
	stop    func()
	encoded bytes.Buffer
	batch   arrow.RecordBatch // rows from row on are not encoded yet
	row     int64
	piece   int64 // number of rows to encode next
	ended   bool
	err     error // the result of the source or of encoding
}

// Read implements io.Reader. It encodes the next piece when the previous one has been read.
func (b *rowsBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.release()
	// Encoding a piece may yield no bytes, as for an empty batch.
	for b.encoded.Len() == 0 {
		switch {
		case b.err != nil:
			return 0, b.err
		case b.closed.Load():
			return 0, io.ErrClosedPipe
		case b.ended:
			return 0, io.EOF
		}
		b.err = b.encode()
	}
	return b.encoded.Read(p)
}

// encode encodes the next piece, or the end of the stream.
func (b *rowsBody) encode() error {
	if err := b.ctx.Err(); err != nil {
		return err
	}
	if b.batch == nil {
		batch, err, ok := b.next()
		switch {
		case err != nil:
			return fmt.Errorf("the rows to send: %w", err)
		case !ok:
			b.ended = true
			return b.stream.Close()
		case batch.NumRows() == 0:
			return nil
		}
		b.batch, b.row = batch, 0
	}
	end := min(b.batch.NumRows(), b.row+b.piece)
	part := b.batch.NewSlice(b.row, end)
	defer part.Release()
	if b.row = end; end == b.batch.NumRows() {
		b.batch = nil
	}
	if err := b.stream.Write(part); err != nil {
		return fmt.Errorf("the rows to send: %w", err)
	}
	// Adapt the rows of the next piece to about pieceBytes.
	switch size := b.encoded.Len(); {
	case size > 2*pieceBytes:
		b.piece = max(b.piece/2, 1)
	case size < pieceBytes/2:
		b.piece = min(b.piece*2, maxPieceRows)
	}
	return nil
}

// failure returns the error of the source, if there was one. It does not wait for a source that is
// busy.
func (b *rowsBody) failure() error {
	if !b.mu.TryLock() {
		return nil
	}
	defer b.mu.Unlock()
	return b.err
}

// Close ends the source. If a Read is waiting for the source, that Read ends the source when it
// returns.
func (b *rowsBody) Close() error {
	b.closed.Store(true)
	if b.mu.TryLock() {
		b.release()
	}
	return nil // else the running Read ends the source
}

// wait waits until the source is no longer in use.
func (b *rowsBody) wait() {
	b.mu.Lock()
	b.release()
}

// release unlocks mu, and ends the source if the body was closed in the meantime.
func (b *rowsBody) release() {
	b.mu.Unlock()
	if b.closed.Load() && b.mu.TryLock() {
		b.stop()
		b.mu.Unlock()
	}
}
