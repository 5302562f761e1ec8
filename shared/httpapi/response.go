package httpapi

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"tiltyard/shared/protocol"
)

const (
	contentTypeJSON      = "application/json"
	contentTypeArrowFile = "application/vnd.apache.arrow.file"
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

// writeJSON answers 200 with a value, or with no body when that is a *protocol.Empty.
func (c *call) writeJSON(value any) error {
	c.setVersion(value)
	if _, ok := value.(*protocol.Empty); ok {
		c.w.WriteHeader(http.StatusOK)
		return nil
	}
	body, err := encodeJSON(value)
	if err != nil {
		return fmt.Errorf("encode the response of %s: %w", c.match.operation.Name, err)
	}
	c.w.Header().Set("Content-Type", contentTypeJSON)
	c.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = c.w.Write(body) // a client that has gone misses nothing
	return nil
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

// setVersion tells the version of the table that was read, from which LanceDB clients
// learn what later reads must not fall behind.
func (c *call) setVersion(value any) {
	if v, ok := value.(interface{ AtVersion() int64 }); ok {
		c.w.Header().Set("X-Lancedb-Version", strconv.FormatInt(v.AtVersion(), 10))
	}
}

// writeRows streams batches as an Arrow file. The header goes out with the first batch,
// so that an error before it is still an error response.
func (c *call) writeRows(rows *protocol.Rows) error {
	out := &arrowResponse{call: c, rows: rows}
	for batch, err := range rows.Batches {
		switch {
		case err != nil && out.file == nil:
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

// arrowResponse is an Arrow file on its way out.
type arrowResponse struct {
	call   *call
	rows   *protocol.Rows
	buffer *bufio.Writer
	file   *ipc.FileWriter
}

// begin opens the file on the first call.
func (o *arrowResponse) begin() error {
	if o.file != nil {
		return nil
	}
	buffer := bufio.NewWriterSize(o.call.w, 64<<10)
	file, err := newArrowFile(buffer, o.rows.Schema)
	if err != nil {
		return fmt.Errorf("open the Arrow response: %w", err)
	}
	o.call.setVersion(o.rows)
	o.call.w.Header().Set("Content-Type", contentTypeArrowFile)
	o.buffer, o.file = buffer, file
	return nil
}

// abort ends a response that cannot be completed, so that the client sees it break off.
func (o *arrowResponse) abort(err error) {
	o.call.err = err
	panic(http.ErrAbortHandler)
}

// newArrowFile is the one place that knows who writes Arrow files. Batches are not
// compressed: not every reader of the specification's clients can undo it.
func newArrowFile(w io.Writer, schema *arrow.Schema) (*ipc.FileWriter, error) {
	return ipc.NewFileWriter(w, ipc.WithSchema(schema))
}

// log writes the one line of a request. Nothing in it is a secret: tokens, bodies and
// query strings stay out.
func (h *handler) log(c *call, took time.Duration) {
	level := slog.LevelInfo
	attrs := []slog.Attr{
		slog.String("request_id", c.requestID),
		slog.String("method", c.r.Method),
		slog.String("operation", c.match.operation.Name),
		slog.String("object", c.object),
		slog.String("dialect", c.match.dialect.String()),
		slog.Int("status", c.w.status),
		slog.Duration("duration", took),
		slog.Int64("bytes", c.w.bytes),
	}
	if c.principal != nil {
		attrs = append(attrs, slog.String("principal", c.principal.String()))
	}
	if c.err != nil {
		attrs = append(attrs, slog.String("error", c.err.Error()))
	}
	if c.w.status >= http.StatusInternalServerError && c.w.status != http.StatusNotImplemented {
		level = slog.LevelError
	}
	h.Logger.LogAttrs(c.ctx(), level, "request", attrs...)
}
