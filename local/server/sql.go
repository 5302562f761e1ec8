package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"tiltyard/local/flightsql"
	"tiltyard/local/server/handover"
	"tiltyard/shared/boot"
	"tiltyard/shared/process/backoff"
)

// A sqlSocket opens the socket for drivers. open returns nil if the server answers none.
type sqlSocket struct {
	address string // empty: none
	first   net.Listener
	tls     *tls.Config // nil: without TLS
}

// listenSQL listens for drivers of Flight SQL, at an address or, if it is empty, at the port after that of REST. A given
// address that is in use is an error, unless a former process of this server is about to leave it.
func listenSQL(ctx context.Context, address string, rest *handover.Socket, logger *slog.Logger) (*sqlSocket, error) {
	given := address != ""
	if !given {
		address = nextPort(rest.Addr())
	}
	if address == "" || address == "off" {
		return new(sqlSocket), nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	switch {
	case err == nil || errors.Is(err, syscall.EADDRINUSE) && rest.Outlives():
		return &sqlSocket{address: address, first: listener}, nil
	case !given:
		logger.Warn("drivers of Flight SQL are not answered; choose an address with --sql-listen", "error", err)
		return new(sqlSocket), nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("another program uses %s; choose another address with --sql-listen", address)
	}
	return nil, err
}

// nextPort returns the address with the port after that of another one, or "" if there is none.
func nextPort(at net.Addr) string {
	host, text, err := net.SplitHostPort(at.String())
	port, notNumber := strconv.Atoi(text)
	if err != nil || notNumber != nil || port >= 1<<16-1 {
		return ""
	}
	return net.JoinHostPort(host, strconv.Itoa(port+1))
}

// listen returns the socket. It waits, for a limited time, until a former process has left it.
func (s *sqlSocket) listen(ctx context.Context) (net.Listener, error) {
	listener, err := s.first, error(nil)
	for end := time.Now().Add(2 * drainTimeout); listener == nil; {
		listener, err = new(net.ListenConfig).Listen(ctx, "tcp", s.address)
		if err != nil && (!errors.Is(err, syscall.EADDRINUSE) || time.Now().After(end) || backoff.Sleep(ctx, 100*time.Millisecond) != nil) {
			return nil, err
		}
	}
	return listener, nil
}

// serveSQL answers drivers until the context ends. wait waits until the last call has been answered.
func serveSQL(ctx context.Context, socket *sqlSocket, handler http.Handler, env *boot.Env) (wait func()) {
	if socket.address == "" {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		listener, err := socket.listen(ctx)
		if err == nil {
			env.Logger.Info("answering drivers of Flight SQL", "address", listener.Addr().String(), "tls", socket.tls != nil)
			server := flightsql.New(flightsql.Options{Handler: handler, BasePath: env.BasePath, Logger: env.Logger, Timeout: env.RequestTimeout, TLS: socket.tls})
			err = server.Serve(ctx, listener)
		}
		if err != nil && ctx.Err() == nil {
			env.Logger.Error("drivers of Flight SQL are not answered", "error", err)
		}
	}()
	return func() { <-done }
}
