package httpapi

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"tiltyard/shared/protocol"
)

const (
	contentTypeJSON        = "application/json"
	contentTypeArrowStream = "application/vnd.apache.arrow.stream"
	contentTypeArrowFile   = "application/vnd.apache.arrow.file"
)

// responseWriter remembers what went out.
type responseWriter struct {
	http.ResponseWriter
	status int // zero until the header is written
	bytes  int64
}

// WriteHeader remembers the status.
func (w *responseWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write counts the bytes.
func (w *responseWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController find the connection.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// writeNothing answers that there was nothing to do. The one native client that cannot
// read an empty body is known by sending no User-Agent; it gets an empty object.
func (c *call) writeNothing() {
	if c.r.Header.Get("User-Agent") == "" {
		c.w.Header().Set("Content-Type", contentTypeJSON)
		_, _ = io.WriteString(c.w, "{}")
		return
	}
	c.w.WriteHeader(http.StatusNoContent)
}

// A reply is an answer that is all there: one of JSON, or of nothing.
type reply struct {
	status int
	header map[string]string
	body   []byte
}

// encode makes the reply of a value: 204 for nil, 200 without a body for a
// *protocol.Empty, and else 200 with the value as JSON.
func (c *call) encode(value any) (reply, error) {
	if value == nil {
		return reply{status: http.StatusNoContent}, nil
	}
	r := reply{status: http.StatusOK, header: map[string]string{}}
	if version := versionOf(value); version != "" {
		r.header[versionHeader] = version
	}
	if _, ok := value.(*protocol.Empty); ok {
		return r, nil
	}
	body, err := encodeJSON(value)
	if err != nil {
		return reply{}, fmt.Errorf("encode the response of %s: %w", c.match.operation.Name, err)
	}
	r.header["Content-Type"], r.body = contentTypeJSON, body
	return r, nil
}

// send writes a reply. A client that has gone misses nothing.
func (c *call) send(r reply) {
	c.note(r)
	for name, value := range r.header {
		c.w.Header().Set(name, value)
	}
	if r.status == http.StatusNoContent {
		c.writeNothing()
		return
	}
	if len(r.body) > 0 {
		c.w.Header().Set("Content-Length", strconv.Itoa(len(r.body)))
	}
	c.w.WriteHeader(r.status)
	_, _ = c.w.Write(r.body)
}

// encodeJSON leaves <, > and & as they are, because people read our messages.
func encodeJSON(value any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// versionHeader tells the version of the table that was read, from which LanceDB clients
// learn what later reads must not fall behind.
const versionHeader = "X-Lancedb-Version"

// versionOf returns what that header says of an answer, or "".
func versionOf(value any) string {
	if v, ok := value.(interface{ AtVersion() int64 }); ok {
		return strconv.FormatInt(v.AtVersion(), 10)
	}
	return ""
}

// writeRows streams batches in a format of Arrow. The header goes out with the first batch,
// so that an error before it is still an error response.
func (c *call) writeRows(rows *protocol.Rows, format arrowFormat) error {
	out := &arrowResponse{call: c, rows: rows, format: format}
	for batch, err := range rows.Batches {
		switch {
		case err != nil && c.w.status == 0: // what was written is still in our buffer
			c.w.Header().Del(versionHeader)
			return err
		case err != nil:
			out.abort(err)
		}
		if err := out.begin(); err != nil {
			return err
		}
		if err := out.file.Write(batch); err != nil {
			out.abort(err)
		}
	}
	if err := out.begin(); err != nil {
		return err
	}
	if err := out.file.Close(); err != nil {
		out.abort(err)
	}
	if err := out.buffer.Flush(); err != nil {
		out.abort(err)
	}
	return nil
}

// arrowResponse is an Arrow file or stream on its way out.
type arrowResponse struct {
	call   *call
	rows   *protocol.Rows
	format arrowFormat
	buffer *bufio.Writer
	file   arrowWriter
}

// begin opens the file on the first call.
func (o *arrowResponse) begin() error {
	if o.file != nil {
		return nil
	}
	buffer := bufio.NewWriterSize(o.call.w, 64<<10)
	file, err := o.format.writer(buffer, o.rows.Schema)
	if err != nil {
		return fmt.Errorf("open the Arrow response: %w", err)
	}
	if version := versionOf(o.rows); version != "" {
		o.call.w.Header().Set(versionHeader, version)
	}
	o.call.w.Header().Set("Content-Type", o.format.contentType)
	o.buffer, o.file = buffer, file
	return nil
}

// abort ends a response that cannot be completed, so that the client sees it break off.
func (o *arrowResponse) abort(err error) {
	o.call.err = err
	panic(http.ErrAbortHandler)
}

// arrowFormat is one of the two ways in which Arrow writes batches.
type arrowFormat struct {
	contentType string
	writer      func(io.Writer, *arrow.Schema) (arrowWriter, error)
}

type arrowWriter interface {
	Write(arrow.RecordBatch) error
	Close() error
}

// The formats. Batches are not compressed: not every reader of the specification's clients
// can undo it.
var (
	arrowFile = arrowFormat{contentTypeArrowFile, func(w io.Writer, schema *arrow.Schema) (arrowWriter, error) {
		return ipc.NewFileWriter(w, ipc.WithSchema(schema))
	}}
	arrowStream = arrowFormat{contentTypeArrowStream, func(w io.Writer, schema *arrow.Schema) (arrowWriter, error) {
		return ipc.NewWriter(w, ipc.WithSchema(schema)), nil
	}}
)
