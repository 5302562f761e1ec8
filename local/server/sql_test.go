package main

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"

	"tiltyard/local/server/handover"
)

// fixed is a listener that claims an address.
type fixed struct {
	net.Listener
	at net.Addr
}

func (f fixed) Addr() net.Addr { return f.at }

// before returns a socket whose next port is that of a listener.
func before(taken net.Listener) *handover.Socket {
	at := *taken.Addr().(*net.TCPAddr)
	at.Port--
	return &handover.Socket{Listener: fixed{at: &at}}
}

func TestServerListensForDriversAtTheNextPort(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	rest, logger := before(taken), slog.New(slog.DiscardHandler)
	for address, none := range map[string]bool{"": true, "off": true, "127.0.0.1:0": false} {
		socket, err := listenSQL(t.Context(), address, rest, logger)
		if err != nil || (socket.address == "") != none {
			t.Errorf("%q, with the next port in use: got %+v, %v", address, socket, err)
		}
		if !none {
			_ = socket.first.Close()
		}
	}
	if _, err := listenSQL(t.Context(), taken.Addr().String(), rest, logger); err == nil || !strings.Contains(err.Error(), "--sql-listen") {
		t.Errorf("an address in use: got %v", err)
	}

	// A former process leaves its port to this one.
	waiting, err := listenSQL(t.Context(), "", handover.Lasting(rest.Listener), logger)
	if err != nil || waiting.first != nil {
		t.Fatalf("got %+v, %v", waiting, err)
	}
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	listener, err := waiting.listen(t.Context())
	if err != nil || listener.Addr().String() != taken.Addr().String() {
		t.Fatalf("got %v, %v", listener, err)
	}
	again, err := listenSQL(t.Context(), "", handover.Lasting(rest.Listener), logger)
	if err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := again.listen(ended); err == nil {
		t.Error("waits for the port after the end")
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestNextPort(t *testing.T) {
	for at, want := range map[string]string{"127.0.0.1:10024": "127.0.0.1:10025", "[::1]:80": "[::1]:81", "127.0.0.1:65535": ""} {
		address, err := net.ResolveTCPAddr("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		if got := nextPort(address); got != want {
			t.Errorf("%s: got %q, want %q", at, got, want)
		}
	}
}
