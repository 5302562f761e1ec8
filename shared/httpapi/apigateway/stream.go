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
)

// maxStreamBytes is what a function may answer as a stream.
const maxStreamBytes = 200 << 20

// Stream answers one event. The answer of one that came by a gateway that streams is read
// while the handler writes it, and is an io.Closer that waits for the handler. Any other is
// all there, as that of [Function.Invoke] is.
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
	return event.stream(f.start(ctx, event.request)), nil
}

// start lets the handler begin, and returns when it knows the status and the headers.
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

// stream is an http.ResponseWriter whose body is read while it is written.
type stream struct {
	request *http.Request
	header  http.Header
	pipe    *io.PipeWriter
	left    int           // bytes that may still be written
	begun   chan struct{} // closed when status and sent are known
	ended   chan struct{} // closed when the handler is done

	status int
	sent   http.Header
	body   *io.PipeReader
}

// run lets the handler answer. A panic of the program ends it: nothing here could tell who
// called the function.
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

// errBrokenOff is what the gateway is told of a response that cannot be completed.
var errBrokenOff = errors.New("the response broke off")

// Header returns the headers to be sent.
func (s *stream) Header() http.Header { return s.header }

// WriteHeader begins the answer. One that is known to be too large is refused.
func (s *stream) WriteHeader(status int) {
	if s.status != 0 {
		return
	}
	if length, err := strconv.Atoi(s.header.Get("Content-Length")); err == nil && length > s.left {
		s.left = 0
		s.replace(tooLarge(s.request, s.header))
		return
	}
	s.begin(status, s.header)
}

func (s *stream) begin(status int, header http.Header) {
	s.status, s.sent = status, header.Clone()
	close(s.begun)
}

// replace answers with another response than that of the handler.
func (s *stream) replace(other *recorder) {
	s.begin(other.status, other.header)
	_, _ = s.pipe.Write(other.body.Bytes()) // fails when nobody reads any more
	_ = s.pipe.Close()
}

// Write hands p to who reads the answer, and fails when there is nobody any more.
func (s *stream) Write(p []byte) (int, error) {
	s.WriteHeader(http.StatusOK)
	if len(p) > s.left {
		return 0, errOverflow
	}
	n, err := s.pipe.Write(p)
	s.left -= n
	return n, err
}

// Read returns what the handler has written.
func (s *stream) Read(p []byte) (int, error) { return s.body.Read(p) }

// Close waits for the handler, which can write no more.
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
