// Package handover lets one process of a server take the place of another without its clients
// noticing, by the socket that both have.
//
// Either the socket belongs to a program such as systemd, which starts the server with it, and
// keeps the connections that come while there is no server. Or a server is told by SIGUSR2 to hand
// over: it starts its program anew, which may be another release by then, with the same arguments
// and environment and with its socket. As soon as the successor can answer, it ends the former
// process by SIGTERM, as an operator would. A successor that cannot start ends instead, and nothing
// has happened.
package handover

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
)

// A Socket is where a server listens.
type Socket struct {
	net.Listener
	outlives atomic.Bool
}

// Outlives reports whether the socket stays open when this process closes it: the process that it
// is from, or that it was given to, accepts the connections that this one does not.
func (s *Socket) Outlives() bool { return s.outlives.Load() }

// Open opens the address, unless the process was started with a socket.
func Open(ctx context.Context, address string) (*Socket, error) {
	given, err := inherited()
	if err != nil {
		return nil, err
	}
	if given != nil {
		return Lasting(given), nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("another program uses %s; choose another address with --listen", address)
	}
	if err != nil {
		return nil, err
	}
	return &Socket{Listener: listener}, nil
}

// Lasting returns the socket of a listener that another process has, too.
func Lasting(listener net.Listener) *Socket {
	s := &Socket{Listener: listener}
	s.outlives.Store(true)
	return s
}

// These are the variables with which systemd, and programs like it, start a process with open
// sockets: their number, from descriptor 3 on, and whom they are for. See sd_listen_fds(3).
const (
	socketsVariable = "LISTEN_FDS"
	forVariable     = "LISTEN_PID"
	namesVariable   = "LISTEN_FDNAMES"
	firstSocket     = 3
)

// inherited returns the socket that the process was started with, or nil. The programs that this
// one starts do not see it.
func inherited() (net.Listener, error) {
	count, pid := os.Getenv(socketsVariable), os.Getenv(forVariable)
	if count == "" || pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return nil, nil
	}
	for _, name := range []string{socketsVariable, forVariable, namesVariable} {
		if err := os.Unsetenv(name); err != nil {
			return nil, err
		}
	}
	if count != "1" {
		return nil, fmt.Errorf("%s is %q, and the server listens on one socket: start it with one", socketsVariable, count)
	}
	file := os.NewFile(firstSocket, "the socket of "+socketsVariable)
	listener, err := net.FileListener(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("descriptor %d, of %s, is no socket that listens: %w", firstSocket, socketsVariable, err)
	}
	return listener, nil
}
