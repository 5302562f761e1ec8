package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"tiltyard/local/server/handover"
	"tiltyard/shared/process/backoff"
)

// These are the limits of connections. There is none for whole requests and responses: the handler
// bounds those, because it knows how long an operation may take, and streams may be long.
const (
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10
	drainTimeout   = 30 * time.Second
	// lingerTimeout is how long kept connections have to end by a last answer, where the next one of
	// the client would reach another process.
	lingerTimeout = 5 * time.Second
)

// answer serves requests until the context ends. It then accepts no new requests and waits a
// limited time for those that run.
//
// Where the socket outlives this process, no client notices. Its connections are told to end with
// their next answer, as a client that sends a request on a connection while that is closed does not
// know whether the request was served.
func answer(ctx context.Context, s *handover.Socket, handler http.Handler, logger *slog.Logger) error {
	var leaving atomic.Bool
	var connections atomic.Int64
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if leaving.Load() {
				w.Header().Set("Connection", "close")
			}
			handler.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				connections.Add(1)
			case http.StateClosed, http.StateHijacked:
				connections.Add(-1)
			}
		},
	}
	failed := make(chan error, 1)
	go func() {
		defer close(failed)
		failed <- server.Serve(s)
	}()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	logger.Info("stopping", "cause", context.Cause(ctx).Error())
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	if s.Outlives() {
		leaving.Store(true)
		if err := s.Close(); err != nil {
			logger.Warn("could not close the socket", "error", err)
		} else if err := <-failed; !errors.Is(err, net.ErrClosed) { // or Shutdown, too, would close the socket, and fail
			logger.Warn("could not serve until the end", "error", err)
		}
		for end := time.Now().Add(lingerTimeout); connections.Load() > 0 && time.Now().Before(end); {
			_ = backoff.Sleep(drain, 20*time.Millisecond)
		}
	}
	if err := server.Shutdown(drain); err != nil {
		return errors.Join(fmt.Errorf("requests were still running after %s and were cut off: %s", drainTimeout, err.Error()), server.Close())
	}
	if err := <-failed; err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}
