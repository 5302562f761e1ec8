package apigateway

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// recorder is an http.ResponseWriter that keeps a response of at most maxPayloadBytes.
type recorder struct {
	header   http.Header
	status   int
	body     bytes.Buffer
	overflow bool
}

func newRecorder() *recorder { return &recorder{header: http.Header{}, status: http.StatusOK} }

// Header returns the headers to be sent.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader takes the status.
func (w *recorder) WriteHeader(status int) { w.status = status }

// Write keeps p, unless the response has become too large to be delivered.
func (w *recorder) Write(p []byte) (int, error) {
	if w.overflow || w.body.Len()+len(p) > maxPayloadBytes {
		w.overflow = true
		return 0, errOverflow
	}
	return w.body.Write(p)
}

// tooLarge stands in for a response that the gateway would not deliver.
func tooLarge(r *http.Request, header http.Header) *recorder {
	return problem(r, header, http.StatusRequestEntityTooLarge, 13, "response-too-large",
		"the response is larger than the gateway delivers",
		"ask for fewer rows or columns, page with k and offset, or read the table from its location")
}

// brokenOff stands in for a response that failed after it had begun.
func brokenOff(r *http.Request, header http.Header) *recorder {
	return problem(r, header, http.StatusInternalServerError, 18, "internal",
		"internal error; the request id tells the operators more", "")
}

// problem makes an error response of the form that httpapi gives to its own, under the
// headers that do not describe the body it replaces.
func problem(r *http.Request, header http.Header, status, code int, kind, message, detail string) *recorder {
	w := newRecorder()
	w.status = status
	for _, name := range []string{"X-Request-Id", "Phalanx-Version"} {
		if value := header.Get(name); value != "" {
			w.header.Set(name, value)
		}
	}
	w.header.Set("Content-Type", "application/json")
	body := map[string]any{
		"error": message, "code": code, "type": "/errors/" + kind, "title": http.StatusText(status),
		"status": status, "detail": detail, "instance": r.URL.EscapedPath(),
		"request_id": header.Get("X-Request-Id"), "retryable": false,
	}
	// A map of strings and numbers always encodes, and a buffer takes everything.
	_ = json.NewEncoder(&w.body).Encode(body)
	return w
}
