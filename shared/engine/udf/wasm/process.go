package wasm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"tiltyard/shared/engine/udf/wasm/frame"
)

const (
	// endTime bounds the shutdown of a process: the close of the module or, after its pipe has broken, the
	// wait for its exit status.
	endTime = time.Second
	// maxStderr is the size of the kept output of a process.
	maxStderr = 4 << 10
)

// A process is a child that runs a module.
type process struct {
	command *exec.Cmd
	in, out *os.File
	stderr  head
	ended   chan struct{} // closed when the process has ended
}

// start starts a process that inherits three pipes and nothing else.
func start(program []string) (*process, error) {
	in, toChild, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	fromChild, out, err := os.Pipe()
	if err != nil {
		_, _ = in.Close(), toChild.Close()
		return nil, err
	}
	p := &process{in: toChild, out: fromChild, ended: make(chan struct{})}
	p.command = exec.Command(program[0], program[1:]...) //nolint:noctx // a process serves many calls
	p.command.Env = []string{}                           // nil would be ours
	p.command.Dir = os.TempDir()
	p.command.Stdin, p.command.Stdout, p.command.Stderr = in, out, &p.stderr
	isolate(p.command)
	started := make(chan error)
	go func() {
		// On Linux the kernel kills the child when the thread that started it ends, so this thread lives as
		// long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.command.Start()
		_, _ = in.Close(), out.Close()
		started <- err
		if err == nil {
			_ = p.command.Wait() // the state has the details
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		_, _ = toChild.Close(), fromChild.Close()
		return nil, err
	}
	return p, nil
}

// talk writes to the process and reads from it. It kills the process when ctx ends or the time is over,
// and finds out why a process has ended by itself.
func (p *process) talk(ctx context.Context, limit time.Duration, do func(in io.Writer, out io.Reader) (*frame.Failure, error)) (*frame.Failure, error) {
	within, cancel := context.WithTimeoutCause(ctx, limit, errTimeLimit)
	defer cancel()
	stop := context.AfterFunc(within, func() { _ = p.command.Process.Kill() })
	failure, err := do(p.in, p.out)
	if !stop() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return &frame.Failure{Type: frame.TimeLimit, Message: fmt.Sprintf("it takes longer than %v", limit)}, nil
	}
	switch {
	case err == nil:
		return failure, nil
	case errors.Is(err, frame.ErrInvalid) && !errors.Is(err, io.ErrUnexpectedEOF):
		return &frame.Failure{Type: frame.HostFailed, Message: err.Error()}, nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, os.ErrClosed), errors.Is(err, syscall.EPIPE):
		return p.reason()
	}
	return nil, err
}

// reason returns why a process has ended by itself.
func (p *process) reason() (*frame.Failure, error) {
	select {
	case <-p.ended:
	case <-time.After(endTime):
		p.kill()
		return &frame.Failure{Type: frame.HostFailed, Message: "the process has closed its pipe"}, nil
	}
	state := p.command.ProcessState
	if state.ExitCode() < 0 {
		return nil, fmt.Errorf("%w: %s", errKilled, state)
	}
	message := fmt.Sprintf("the process ended: %s", state)
	if text := p.stderr.String(); strings.Contains(text, "out of memory") || strings.Contains(text, "cannot allocate memory") {
		message = "the process ran out of memory"
	}
	return &frame.Failure{Type: frame.HostFailed, Message: message}, nil
}

// end lets the module close and then ends the process.
func (p *process) end() {
	_ = p.in.Close()
	select {
	case <-p.ended:
	case <-time.After(endTime):
	}
	p.kill()
}

// kill ends the process and returns after that.
func (p *process) kill() {
	_ = p.command.Process.Kill()
	<-p.ended
	_, _ = p.in.Close(), p.out.Close()
}

// A head keeps the beginning of the data written to it.
type head struct {
	mu   sync.Mutex
	text []byte
}

// Write keeps the first maxStderr bytes. It never fails, so the process is not disturbed.
func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text = append(h.text, p[:min(len(p), maxStderr-len(h.text))]...)
	return len(p), nil
}

func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(h.text)
}
