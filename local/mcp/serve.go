package mcp

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tiltyard/shared/client"
)

// Limits of messages and connections.
const (
	maxMessageBytes = 4 << 20
	maxHeaderBytes  = 64 << 10
	headerTimeout   = 10 * time.Second
	bodyTimeout     = time.Minute // to read a request, with its header
	idleTimeout     = 2 * time.Minute
	drainTimeout    = 10 * time.Second
)

// Serve answers the messages of one client, a line each, until in or the context ends.
func Serve(ctx context.Context, server *sdk.Server, in io.Reader, out io.Writer) error {
	err := server.Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(in), Writer: unclosed{out}, MaxLineLength: maxMessageBytes})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// unclosed is a writer whose owner closes it.
type unclosed struct{ io.Writer }

// Close does nothing.
func (unclosed) Close() error { return nil }

// Always returns a function for [Options] that returns the same client for all calls.
func Always(c *client.Client) func(http.Header) (*client.Client, error) {
	return func(http.Header) (*client.Client, error) { return c, nil }
}

// Handler returns a handler of the Streamable HTTP transport. It keeps no sessions. It answers 401 to
// requests without a token or with one that callers refuse, and 503 if callers cannot check it. It answers
// 403 to those that a web page may have caused: those with the origin of another host, and those that reach
// a loopback address under another name, by DNS rebinding, which the handler of the SDK refuses.
func Handler(server *sdk.Server, callers *Callers) http.Handler {
	messages := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxMessageBytes, PropagateRequestCancellation: true,
	})
	return http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := callers.check(r.Context(), r.Header); err != nil {
			refuse(w, err)
			return
		}
		messages.ServeHTTP(w, r)
	}))
}

// Listen serves HTTP until the context ends, and then lets running calls finish for a short time.
func Listen(ctx context.Context, socket net.Listener, server *sdk.Server, callers *Callers) error {
	web := &http.Server{
		Handler: Handler(server, callers), ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
	}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(socket) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	drain, done := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer done()
	if err := web.Shutdown(drain); err != nil {
		return errors.Join(err, web.Close())
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
