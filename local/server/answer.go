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

// Limits of connections. There is no limit for whole requests and responses: the handler bounds
// these, because the time depends on the operation, and streams may be long.
const (
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10
	drainTimeout   = 30 * time.Second
	// lingerTimeout is the time that connections have to end with a last answer, if another process
	// accepts the client's next connection.
	lingerTimeout = 5 * time.Second
)

// answer serves requests until the context ends. It then accepts no new requests and waits a
// limited time for running ones.
//
// If another process has the socket, too, clients do not notice the end: their connections close
// with the next answer. Closing an idle connection could cross with a request, and the client would
// not know whether the request was served.
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
		} else if err := <-failed; !errors.Is(err, net.ErrClosed) { // else Shutdown would close the socket again, and fail
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
