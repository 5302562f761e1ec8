package main

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"

	"tiltyard/local/server/handover"
)

// A server whose socket outlives it serves what comes on connections that it has, and ends them with
// the answer.
func TestKeptConnectionsEndWithAnAnswer(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stopped := make(chan error, 1)
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "served") })
	go func() { stopped <- answer(ctx, handover.Lasting(listener), handler, slog.New(slog.DiscardHandler)) }()
	dial := func() (net.Conn, error) {
		return new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
	}
	kept, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(kept)
	for _, closes := range []bool{false, true} {
		if closes {
			stop()
			for { // until it takes no more connections
				connection, err := dial()
				if err != nil {
					break
				}
				_ = connection.Close()
			}
		}
		if _, err := io.WriteString(kept, "GET / HTTP/1.1\r\nHost: server\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil || string(body) != "served" || response.Close != closes {
			t.Errorf("got %q, %v, and that the connection ends: %t, want %t", body, err, response.Close, closes)
		}
		_ = response.Body.Close()
	}
	if err := <-stopped; err != nil {
		t.Errorf("stopped with %v", err)
	}
}
