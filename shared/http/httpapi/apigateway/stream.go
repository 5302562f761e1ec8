package apigateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/aws/aws-lambda-go/events"

	"tiltyard/shared/http/httpapi"
)

// maxStreamBytes is the longest streamed answer of a function.
const maxStreamBytes = 200 << 20

// Stream answers one event. If its gateway streams, the result is read while the handler writes,
// and is an io.Closer that waits for the handler. Otherwise the result is complete, as from
// [Function.Invoke].
func (f *Function) Stream(ctx context.Context, payload json.RawMessage) (io.Reader, error) {
	event, err := parseEvent(ctx, payload)
	if err != nil {
		return nil, err
	}
	if event.stream == nil {
		answer, err := f.answer(ctx, event)
		if err != nil {
			return nil, err
		}
		return bytes.NewReader(answer), nil
	}
	return event.stream(f.start(event.origin(ctx), event.request)), nil
}

// start starts the handler. It returns when status and headers are known.
func (f *Function) start(ctx context.Context, r *http.Request) *stream {
	body, pipe := io.Pipe()
	s := &stream{
		header: http.Header{}, pipe: pipe, left: f.streamBytes, request: r,
		begun: make(chan struct{}), ended: make(chan struct{}), body: body,
	}
	go func() {
		defer close(s.ended)
		ctx, cancel := withMargin(ctx)
		defer cancel()
		s.run(f.handler, r.WithContext(ctx))
	}()
	<-s.begun
	return s
}

// stream is an http.ResponseWriter whose body can be read while it is written.
type stream struct {
	request *http.Request
	header  http.Header
	pipe    *io.PipeWriter
	left    int           // bytes that may still be written
	begun   chan struct{} // closed when status and headers are known
	ended   chan struct{} // closed when the handler has returned

	status   int
	replaced bool // the response is an error: the original was too large
	sent     http.Header
	body     *io.PipeReader
}

// run calls the handler. A panic of the program ends the process, because no caller could handle
// it.
func (s *stream) run(handler http.Handler, r *http.Request) {
	defer func() {
		switch cause := recover(); {
		case cause == nil:
			s.WriteHeader(http.StatusOK)
			_ = s.pipe.Close() // never fails
		case cause != http.ErrAbortHandler:
			panic(cause)
		case s.status == 0:
			s.replace(brokenOff(r, s.header))
		default:
			_ = s.pipe.CloseWithError(errBrokenOff)
		}
	}()
	handler.ServeHTTP(s, r)
}

// errBrokenOff is the gateway's error for a response that cannot be completed.
var errBrokenOff = errors.New("the response broke off")

// Header returns the headers of the response.
func (s *stream) Header() http.Header { return s.header }

// WriteHeader starts the answer. It refuses an answer whose known length is too large.
func (s *stream) WriteHeader(status int) {
	if s.status != 0 {
		return
	}
	if length, err := strconv.Atoi(s.header.Get("Content-Length")); err == nil && length > s.left {
		s.left, s.replaced = 0, true
		s.replace(tooLarge(s.request, s.header))
		return
	}
	s.begin(status, s.header)
}

func (s *stream) begin(status int, header http.Header) {
	s.status, s.sent = status, header.Clone()
	close(s.begun)
}

// replace answers with a different response.
func (s *stream) replace(other *recorder) {
	s.begin(other.status, other.header)
	_, _ = s.pipe.Write(other.body.Bytes()) // fails if the reader was closed
	_ = s.pipe.Close()
}

// Withheld implements [httpapi.Withholder]. A response that breaks off after its start is not withheld.
func (s *stream) Withheld(cut bool) (status int, code string) {
	switch {
	case s.replaced:
		return http.StatusRequestEntityTooLarge, codeTooLarge
	case cut && s.status == 0:
		return http.StatusInternalServerError, "internal"
	}
	return 0, ""
}

// Write passes p to the reader of the answer. It fails if the reader was closed.
func (s *stream) Write(p []byte) (int, error) {
	s.WriteHeader(http.StatusOK)
	if len(p) > s.left {
		return 0, httpapi.ErrUndeliverable
	}
	n, err := s.pipe.Write(p)
	s.left -= n
	return n, err
}

// Read returns bytes that the handler has written.
func (s *stream) Read(p []byte) (int, error) { return s.body.Read(p) }

// Close stops the handler's writes and waits for its end.
func (s *stream) Close() error {
	err := s.body.Close()
	<-s.ended
	return err
}

// streamV2 answers a function URL whose invoke mode is RESPONSE_STREAM.
func streamV2(s *stream) io.ReadCloser {
	return &events.LambdaFunctionURLStreamingResponse{StatusCode: s.status, Headers: joined(s.sent), Body: s}
}

// streamV1 answers a REST API whose response transfer mode is STREAM.
func streamV1(s *stream) io.ReadCloser {
	return &events.APIGatewayProxyStreamingResponse{StatusCode: s.status, MultiValueHeaders: s.sent, Body: s}
}
