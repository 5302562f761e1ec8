package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/queryapi"
)

// Rows are the rows of an answer, which are read from the connection batch by batch. They are for
// one goroutine, which must call Close.
type Rows struct {
	// Version is the version of the table that was read, or 0 if the server does not send it.
	Version int64

	operation string
	body      io.ReadCloser
	reader    *arrowipc.Reader
}

// Schema returns the columns of the rows. Extension types appear as their storage types, with the
// ARROW:extension keys in the metadata of the field.
func (r *Rows) Schema() *arrow.Schema { return r.reader.Schema() }

// Batches yields the batches, and stops after the first error. It can be ranged over once; a break
// loses the rest. A batch stays valid. A truncated response is an error, so a loop that ends
// without an error has seen all rows.
func (r *Rows) Batches() iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for {
			batch, err := r.reader.Next()
			if errors.Is(err, io.EOF) && r.reader.Ended() {
				return
			}
			// The connection ended before the end marker of the stream.
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			if err != nil {
				yield(nil, fmt.Errorf("%s: read the rows: %w", r.operation, err))
				return
			}
			if !yield(batch, nil) {
				return
			}
		}
	}
}

// Close releases the connection.
func (r *Rows) Close() { _ = r.body.Close() } // the rows were read before

// Schema returns the columns of the newest version of a table in Arrow types, by a query without rows.
func (c *Client) Schema(ctx context.Context, table protocol.Common, branch string) (*arrow.Schema, error) {
	rows, err := c.QueryTable(ctx, &queryapi.Request{Common: table, Branch: branch, Filter: "false", K: new(int64(1))})
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	return rows.Schema(), nil
}

// askRows calls an operation whose answer is rows.
func askRows(ctx context.Context, c *Client, operation string, req protocol.Request) (*Rows, error) {
	call, err := c.newCall(operation, req)
	if err != nil {
		return nil, err
	}
	call.header.Set("Accept", arrowipc.ContentTypeStream+"; compression=zstd")
	return rowsOf(ctx, call)
}

// rowsOf sends a call whose answer is rows.
func rowsOf(ctx context.Context, call *call) (*Rows, error) {
	var rows *Rows
	err := call.send(ctx, func(answer *http.Response) (err error) {
		rows, err = openRows(ctx, call.operation.Name, answer)
		if err != nil {
			_ = answer.Body.Close()
		}
		return err
	})
	return rows, err
}

// openRows reads the schema of an answer in the stream or the file format of Arrow IPC.
//
// A file consists of the magic bytes with two bytes of padding, the same messages as a stream, and
// a footer for random access. So it can be read like a stream.
func openRows(ctx context.Context, operation string, answer *http.Response) (*Rows, error) {
	buffered := bufio.NewReaderSize(answer.Body, 64<<10)
	if err := skipMagic(buffered); err != nil {
		return nil, err
	}
	reader, err := arrowipc.NewReader(ctx, buffered, arrowipc.Limits{MaxMessageBytes: maxBatchBytes, MaxDecodedBytes: maxBatchBytes})
	if malformed := (*arrowipc.Error)(nil); errors.As(err, &malformed) {
		return nil, fmt.Errorf("%w: %w", ErrAnswer, err)
	} else if err != nil {
		return nil, err
	}
	return &Rows{Version: versionOf(answer), operation: operation, body: answer.Body, reader: reader}, nil
}

// skipMagic skips the magic bytes of a file. It refuses other data, such as an error page, whose
// bytes would be misread as the message length of the old format.
func skipMagic(r *bufio.Reader) error {
	start, err := r.Peek(len(fileMagic))
	if bytes.Equal(start, fileMagic) {
		_, _ = r.Discard(len(fileMagic)) // cannot fail after Peek
		// Some writers pad the beginning to 64 bytes.
		start, err = r.Peek(len(continuation))
		for padding := 0; padding < maxPadding && bytes.Equal(start, make([]byte, len(continuation))); padding += len(start) {
			_, _ = r.Discard(len(start))
			start, err = r.Peek(len(continuation))
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !bytes.HasPrefix(start, continuation) {
		return fmt.Errorf("%w: it is no Arrow stream and no Arrow file, but %.60q", ErrAnswer, start)
	}
	return nil
}

var (
	fileMagic    = []byte("ARROW1\x00\x00")
	continuation = []byte{0xff, 0xff, 0xff, 0xff} // the first bytes of each message
)

// maxPadding bounds the zeros after the magic bytes of a file.
const maxPadding = 4096

// maxBatchBytes bounds one batch of an answer.
const maxBatchBytes = 4 << 30

// versionOf returns the version of the table that was read, or 0 if the answer does not contain it.
func versionOf(answer *http.Response) int64 {
	version, err := strconv.ParseInt(answer.Header.Get("X-Lancedb-Version"), 10, 64)
	if err != nil {
		return 0
	}
	return version
}
