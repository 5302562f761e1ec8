package apigateway

import (
	"bytes"
	"encoding/json"
	"net/http"

	"tiltyard/shared/http/httpapi"
)

// recorder is an http.ResponseWriter that records a response of at most maxPayloadBytes.
type recorder struct {
	header   http.Header
	status   int
	body     bytes.Buffer
	overflow bool

	event  event  // the answered event
	answer []byte // the encoded answer; nil before fits
}

// Withheld implements [httpapi.Withholder]. A response that is too large or broken off is replaced.
func (w *recorder) Withheld(cut bool) (status int, code string) {
	switch {
	case !w.overflow && cut:
		return http.StatusInternalServerError, "internal"
	case w.overflow || !w.fits():
		return http.StatusRequestEntityTooLarge, codeTooLarge
	}
	return 0, ""
}

// fits encodes the answer, and reports whether the gateway can deliver it.
func (w *recorder) fits() bool {
	if w.answer == nil {
		w.answer, _ = json.Marshal(w.event.encode(w)) // headers and a body as texts always encode
	}
	return len(w.answer) <= w.event.limit
}

// codeTooLarge is the code of an error of this package.
const codeTooLarge = "response-too-large"

func newRecorder() *recorder { return &recorder{header: http.Header{}, status: http.StatusOK} }

// Header returns the headers of the response.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader records the status.
func (w *recorder) WriteHeader(status int) { w.status = status }

// Write records p, unless the response has become too large to be delivered.
func (w *recorder) Write(p []byte) (int, error) {
	if w.overflow || w.body.Len()+len(p) > maxPayloadBytes {
		w.overflow = true
		return 0, httpapi.ErrUndeliverable
	}
	return w.body.Write(p)
}

// tooLarge replaces a response that the gateway would not deliver.
func tooLarge(r *http.Request, header http.Header) *recorder {
	return problem(r, header, http.StatusRequestEntityTooLarge, 13, codeTooLarge,
		"the response is larger than the gateway delivers",
		"let a query write its rows to storage by the header "+httpapi.ResultHeader+": redirect, ask for fewer rows or columns, page with k and offset, or read the table from its location")
}

// brokenOff replaces a response that failed after its start.
func brokenOff(r *http.Request, header http.Header) *recorder {
	return problem(r, header, http.StatusInternalServerError, 18, "internal",
		"internal error; operators find the cause in the log by the request id", "")
}

// problem makes an error response in the form of package httpapi. It keeps the headers that do not
// describe the replaced body.
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
	// Neither the encoder nor the buffer can fail here.
	_ = json.NewEncoder(&w.body).Encode(body)
	return w
}
