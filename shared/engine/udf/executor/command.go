package executor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// command is the carrier to an executor that is a program of this machine. Each line is a process of its
// own, without arguments and without any variable of our environment.
type command struct{ path string }

// Connect starts no process yet.
func (c command) Connect() Line { return &child{path: c.path} }

// A child is a Line to a process. The process is nil before the first call, and after a call without a
// reply.
type child struct {
	path    string
	process *process
}

// Do sends a call to the process, and starts one if necessary. After a call without a valid reply the
// process is killed.
func (c *child) Do(ctx context.Context, call *Call, stream []byte, limit int64) (*Bytes, error) {
	if c.process == nil {
		p, err := start(ctx, c.path)
		if err != nil {
			return nil, err
		}
		c.process = p
	}
	p := c.process
	reply, err := p.do(ctx, call, stream, limit)
	var fault *Fault
	answered := err == nil || errors.As(err, &fault) && fault.Type != Malformed && fault.Type != TooLarge
	if answered && ctx.Err() == nil {
		return reply, err
	}
	c.process = nil // killed, because its next output could belong to this call
	p.end()
	if err == nil || fault != nil || ctx.Err() != nil {
		return reply, err
	}
	message := "the command ended during the call"
	if said := p.said.text(call.Environment); said != "" {
		message += ": " + said
	}
	return nil, &Fault{Type: Crashed, Message: message, Err: err}
}

// farewell is the time that a process has for its shutdown after the last call.
const farewell = 5 * time.Second

// Close lets the process end by itself, since a function may have something to close, and kills it
// otherwise.
func (c *child) Close() error {
	p := c.process
	if p == nil {
		return nil
	}
	c.process = nil
	_ = p.in.Close() // it may have ended already
	timer := time.AfterFunc(farewell, p.kill)
	defer timer.Stop()
	_, _ = io.Copy(io.Discard, p.out) // until it has closed its output
	p.end()
	return nil
}

// A process is a running command. Only end reaps it, so that its process id stays valid until then.
type process struct {
	cmd  *exec.Cmd
	in   *os.File
	read *os.File
	out  *bufio.Reader // of read
	said tail          // on its standard error

	mu    sync.Mutex
	ended bool
}

// start starts the command and waits for its ready line.
func start(ctx context.Context, path string) (*process, error) {
	lost := func(message string, err error) error {
		return &Fault{Type: Unreachable, Message: message, Lost: true, Err: err}
	}
	p, err := launch(path)
	if err != nil {
		return nil, lost("the command could not be started", err)
	}
	defer context.AfterFunc(ctx, p.kill)()
	line := make([]byte, len(greeting))
	if _, err := io.ReadFull(p.out, line); err != nil || string(line) != greeting {
		p.end()
		return nil, lost(fmt.Sprintf("the command did not begin with %q", greeting), errors.Join(err, errors.New(p.said.text(nil))))
	}
	return p, nil
}

// launch starts the command with an empty environment in a process group of its own.
func launch(path string) (p *process, err error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = theirIn.Close() }() // the process has its own
	read, theirOut, err := os.Pipe()
	if err != nil {
		_ = in.Close()
		return nil, err
	}
	defer func() { _ = theirOut.Close() }()
	cmd := exec.Command(path)          //nolint:noctx // kill ends it, together with the processes that it starts
	cmd.Env, cmd.Dir = []string{}, "/" // a nil Env would be our environment
	leadGroup(cmd)
	cmd.WaitDelay = time.Second // in case that a process that it started has left the group and still has its standard error
	p = &process{cmd: cmd, in: in, read: read, out: bufio.NewReader(read)}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirIn, theirOut, &p.said
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, in.Close(), read.Close())
	}
	return p, nil
}

// kill kills the process group, and unblocks reads and writes.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	killGroup(p.cmd)
	now := time.Now()
	_ = p.in.SetWriteDeadline(now) // these fail if the pipe is closed
	_ = p.read.SetReadDeadline(now)
}

// end kills and reaps the process.
func (p *process) end() {
	p.kill()
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	_ = p.cmd.Wait() // it was killed
	_ = p.in.Close()
	_ = p.read.Close()
}

// do sends a call and reads the reply. After an error other than a fault in the reply, the process is
// unusable.
func (p *process) do(ctx context.Context, call *Call, stream []byte, limit int64) (*Bytes, error) {
	head, held, err := frameOf(ctx, call, stream)
	if err != nil {
		return nil, err
	}
	defer held.Release()
	defer context.AfterFunc(ctx, p.kill)()
	// Write and read concurrently: a command may reply before it has read the whole call.
	wrote := make(chan error, 1)
	go func() {
		_, err := p.in.Write(head)
		if err == nil {
			_, err = p.in.Write(stream)
		}
		wrote <- err
	}()
	reply, err := readFrame(ctx, p.out, limit)
	var fault *Fault
	if err != nil && !errors.As(err, &fault) {
		p.kill()
	}
	// The reply to a call that was not written completely cannot be trusted.
	if wrong := <-wrote; wrong != nil && err == nil {
		reply.Release()
		return nil, wrong
	}
	return reply, err
}
