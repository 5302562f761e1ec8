package flightsql

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/client"
)

// A front sends requests to the handler of REST in this process, in the name of the sender of a call.
type front struct {
	handler  http.Handler
	basePath string
}

// client returns a client whose requests have the credentials and the origin of the call in ctx.
func (f front) client(ctx context.Context) (*client.Client, error) {
	return client.New("http://localhost"+f.basePath, client.Options{Transport: &transport{front: f, header: headerOf(ctx), remote: remoteOf(ctx)}, Once: true})
}

// forwarded are the metadata of a call that become headers of its requests.
var forwarded = []string{"authorization", "x-api-key", "x-request-id", "traceparent", "tracestate", "user-agent"}

// headerOf returns the headers for the requests of a call. All values of a name are kept, so that the handler refuses
// credentials that are sent twice.
func headerOf(ctx context.Context) http.Header {
	received, _ := metadata.FromIncomingContext(ctx)
	header := http.Header{}
	for _, name := range forwarded {
		for _, value := range received.Get(name) {
			if name == "authorization" {
				value = bearer(value)
			}
			header.Add(name, value)
		}
	}
	return header
}

// bearer turns a name and a password, which drivers send if users give them, into a token: the password is the token.
func bearer(authorization string) string {
	scheme, rest, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Basic") {
		return authorization
	}
	pair, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.TrimSpace(rest), "=")) // Go clients send no padding
	_, password, ok := strings.Cut(string(pair), ":")
	if err != nil || !ok {
		return authorization // the handler refuses it
	}
	return "Bearer " + password
}

// remoteOf returns the address of the sender of a call.
func remoteOf(ctx context.Context) string {
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		return p.Addr.String()
	}
	return ""
}

// A transport lets the handler serve requests, and passes on each answer while it is written.
type transport struct {
	front
	header http.Header
	remote string
}

// RoundTrip implements http.RoundTripper. The body of the answer must be closed, which ends the handler if it still
// writes. A body that ends too early breaks off without a mark, as the one of a lost connection.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	request := r.Clone(ctx)
	request.RemoteAddr = t.remote
	request.Header.Del("User-Agent")
	for name, values := range t.header {
		request.Header[name] = values
	}
	if strings.HasPrefix(request.Header.Get("Accept"), arrowipc.ContentTypeStream) {
		request.Header.Set("Accept", arrowipc.ContentTypeStream) // compression would be for nothing
	}
	if request.Body == nil {
		request.Body = http.NoBody
	}
	near, far := net.Pipe()
	a := &answer{body: body{Conn: near, cancel: cancel, ended: make(chan struct{})}, out: far, header: http.Header{}, begun: make(chan struct{})}
	stop := context.AfterFunc(ctx, func() { _ = far.Close() })
	go func() {
		defer close(a.body.ended)
		defer stop()
		defer a.finish(request.Body)
		t.handler.ServeHTTP(a, request)
	}()
	<-a.begun
	if a.status == 0 {
		_ = a.body.Close()
		if err := context.Cause(r.Context()); err != nil {
			return nil, err
		}
		return nil, errBrokenOff
	}
	return &http.Response{
		StatusCode: a.status, Status: http.StatusText(a.status), Proto: r.Proto, ProtoMajor: 1, ProtoMinor: 1,
		Header: a.sent, Body: &a.body, ContentLength: -1, Request: r,
	}, nil
}

// errBrokenOff is the error of a request that the handler ended without an answer.
var errBrokenOff = errors.New("the request was broken off; the log of the server has the cause")

// answer is the http.ResponseWriter of a request in this process.
type answer struct {
	body   body
	out    net.Conn
	header http.Header
	sent   http.Header   // the header as it was at the begin of the answer
	status int           // 0 if the handler ended without an answer
	begun  chan struct{} // closed with the header, or at the end
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status, a.sent = status, a.header.Clone()
		close(a.begun)
	}
}

// Write implements http.ResponseWriter. It waits until the reader has taken the bytes.
func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.out.Write(p)
}

// finish ends the answer after the handler, also after one that has panicked to end the connection.
func (a *answer) finish(request io.Closer) {
	cause := recover()
	_ = request.Close() // as transports do
	switch {
	case a.status == 0 && cause == nil:
		a.WriteHeader(http.StatusOK)
	case a.status == 0:
		close(a.begun)
	}
	_ = a.out.Close()
	if cause != nil && cause != http.ErrAbortHandler {
		panic(cause)
	}
}

// body is the readable end of an answer.
type body struct {
	net.Conn
	cancel context.CancelFunc
	ended  chan struct{}
}

// Close ends the handler and waits for it, so that a call leaves nothing behind.
func (b *body) Close() error {
	b.cancel()
	err := b.Conn.Close()
	select {
	case <-b.ended:
	case <-time.After(leaveTime): // work that cannot be interrupted goes on without a reader
	}
	return err
}

// leaveTime bounds the wait for a handler that is no longer needed.
const leaveTime = 5 * time.Second
