// Package handover lets one process of a server replace another without its clients noticing,
// because both have the same socket.
//
// Either the socket belongs to a program such as systemd, which starts the server with it, and
// queues connections while there is no server. Or SIGUSR2 makes a server hand over: it starts its
// program again, which may be another release by then, with the same arguments and environment and
// with its socket. As soon as the successor can serve, it ends the former process by SIGTERM, as an
// operator would. If the successor cannot start, it ends, and the former process continues.
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

// A Socket is the socket on which a server listens.
type Socket struct {
	net.Listener
	outlives atomic.Bool
}

// Outlives reports whether another process keeps the socket open after this one has closed it, and
// accepts the remaining connections.
func (s *Socket) Outlives() bool { return s.outlives.Load() }

// Open listens on the address, unless the process was started with a socket.
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

// The variables with which programs such as systemd start a process with open sockets: their
// number, from descriptor 3 on, the receiver's process id, and their names. See sd_listen_fds(3).
const (
	socketsVariable = "LISTEN_FDS"
	forVariable     = "LISTEN_PID"
	namesVariable   = "LISTEN_FDNAMES"
	firstSocket     = 3
)

// inherited returns the socket with which the process was started, or nil. It unsets the variables,
// so that child processes do not see them.
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
