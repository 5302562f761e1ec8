package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
)

const contentTypeJSON = "application/json"

// responseWriter records the status and the size of the response.
type responseWriter struct {
	http.ResponseWriter
	status int // zero until the header is written
	bytes  int64

	stall time.Duration // time for a client to read one piece
	end   time.Time     // deadline of the connection; zero if there is none
}

// WriteHeader records the status.
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
	if w.end.IsZero() || w.bytes+int64(len(p)) <= pace { // the buffers of a connection take this many bytes without waiting
		n, err := w.ResponseWriter.Write(p)
		w.bytes += int64(n)
		return n, err
	}
	return w.writePaced(p)
}

// writePaced writes in pieces. It closes the connection if the client does not read a piece in
// time, because the unread rest occupies memory.
func (w *responseWriter) writePaced(p []byte) (done int, err error) {
	connection := http.NewResponseController(w.ResponseWriter)
	for err == nil && done < len(p) {
		_ = connection.SetWriteDeadline(earlier(w.end, time.Now().Add(w.stall)))
		var n int
		n, err = w.ResponseWriter.Write(p[done:min(len(p), done+pace)])
		done += n
	}
	w.bytes += int64(done)
	return done, err
}

// Unwrap lets http.ResponseController find the connection.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// writeNothing answers that there was nothing to do. One native client cannot read an empty body;
// it sends no User-Agent, and gets an empty object.
func (c *call) writeNothing() {
	if c.r.Header.Get("User-Agent") == "" {
		c.w.Header().Set("Content-Type", contentTypeJSON)
		_, _ = io.WriteString(c.w, "{}")
		return
	}
	c.w.WriteHeader(http.StatusNoContent)
}

// A reply is a complete answer: JSON, or no body.
type reply struct {
	status int
	header map[string]string
	body   []byte
}

// encode turns a value into a reply: 204 for nil, 200 without a body for a *protocol.Empty, and
// otherwise the value as JSON, with the status that its HTTPStatus method returns, or else 200.
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
	if v, ok := value.(interface{ HTTPStatus() int }); ok {
		r.status = v.HTTPStatus()
	}
	body, err := encodeJSON(value)
	if err != nil {
		return reply{}, fmt.Errorf("encode the response of %s: %w", c.match.operation.Name, err)
	}
	r.header["Content-Type"], r.body = contentTypeJSON, body
	return r, c.holdAnswer(len(body))
}

// holdAnswer takes memory for a long JSON answer until the client has read it. It never refuses the
// answer to a change, because the change has been made and its answer is short.
func (c *call) holdAnswer(bytes int) error {
	if bytes <= pace || c.match.operation.Access == protocol.Write {
		return nil
	}
	return memory.FromContext(c.ctx()).Take(c.ctx(), int64(bytes))
}

// send writes a reply. It ignores errors, because a client that has disconnected needs no answer.
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

// encodeJSON leaves <, > and & unescaped, because people read the messages.
func encodeJSON(value any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// versionHeader has the version of the table that was read. LanceDB clients require later reads to
// be at least as new.
const versionHeader = "X-Lancedb-Version"

// versionOf returns the value of that header for an answer, or "".
func versionOf(value any) string {
	if v, ok := value.(interface{ AtVersion() int64 }); ok {
		return strconv.FormatInt(v.AtVersion(), 10)
	}
	return ""
}
