package wasm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"tiltyard/shared/engine/udf/wasm/frame"
)

// maxTries bounds the attempts of a call whose process is killed from outside, for example by the kernel's
// out-of-memory killer.
const maxTries = 3

var (
	errTimeLimit = errors.New("the call takes too long")
	// errKilled means that another process killed the function's process.
	errKilled = errors.New("the process of the function was killed")
)

// exchange sends the stream of a batch to the process and returns the verified reply. It starts a process
// if there is none. A failure is the function's own; it loses the process, unless the function reported it.
func (w *work) exchange(ctx context.Context, rows int) (*reply, *frame.Failure, error) {
	for try := 1; ; try++ {
		began := time.Now()
		answer, failure, err := w.once(ctx, rows)
		if failure != nil && !failure.Recoverable || errors.Is(err, errKilled) {
			w.lost++
			w.lostTime += time.Since(began)
			w.drop()
		}
		switch {
		case err == nil:
			return answer, failure, nil
		case !errors.Is(err, errKilled):
			w.drop()
			return nil, nil, err
		case try == maxTries:
			return nil, &frame.Failure{Type: frame.HostFailed, Message: fmt.Sprintf("the process was killed %d times", maxTries)}, nil
		}
	}
}

// drop ends the process.
func (c *caller) drop() {
	if c.process != nil {
		c.process.kill()
		c.process = nil
	}
}

// once makes one attempt of exchange.
func (w *work) once(ctx context.Context, rows int) (answer *reply, failure *frame.Failure, err error) {
	if w.process == nil {
		if failure, err = w.begin(ctx); failure != nil || err != nil {
			return nil, failure, err
		}
	}
	failure, err = w.process.talk(ctx, w.runtime.limits.CallTime, func(in io.Writer, out io.Reader) (*frame.Failure, error) {
		if err := frame.Write(in, frame.Call, w.stream.bytes.Bytes()); err != nil {
			return nil, err
		}
		size, failure, err := w.next(out, frame.Result, w.runtime.limits.ResultBytes)
		if failure != nil || err != nil {
			return failure, err
		}
		body := &content{r: out, left: size}
		answer, failure, err = w.verify(ctx, body, rows)
		if body.err != nil {
			return nil, body.err // a read error is not the module's fault
		}
		if body.left > 0 && failure == nil && err == nil {
			failure = invalidReply("%d bytes follow the end of the stream", body.left)
		}
		return failure, err
	})
	if failure != nil || err != nil {
		return nil, failure, err
	}
	return answer, nil, nil
}

// begin starts a process and opens the module in it.
func (c *caller) begin(ctx context.Context) (*frame.Failure, error) {
	p, err := start(c.runtime.program)
	if err != nil {
		return nil, fmt.Errorf("start the process of function %s: %w", c.spec.Name, err)
	}
	c.process = p
	return p.talk(ctx, openTimes*c.runtime.limits.CallTime, func(in io.Writer, out io.Reader) (*frame.Failure, error) {
		if err := frame.Write(in, frame.Setup, c.order); err != nil {
			return nil, err
		}
		if err := frame.Write(in, frame.Module, c.spec.Artifact); err != nil {
			return nil, err
		}
		_, failure, err := c.next(out, frame.Opened, 0)
		if failure != nil {
			failure.Recoverable = false // a process that has opened nothing ends
		}
		return failure, err
	})
}

// A content reads the remaining content of a frame. It records read errors of the pipe.
type content struct {
	r    io.Reader
	left int64
	err  error
}

// Read reads up to the end of the frame. A pipe that ends earlier is io.ErrUnexpectedEOF.
func (c *content) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, io.EOF
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		c.err = err
	}
	return n, err
}

// next reads the header of the next frame, which must be of the given kind, or a whole failure.
func (c *caller) next(out io.Reader, want frame.Kind, most int64) (int64, *frame.Failure, error) {
	kind, size, err := frame.Next(out)
	switch {
	case err != nil:
		return 0, nil, err
	case kind == frame.Failed:
		failure := &frame.Failure{}
		if err := frame.ReadJSON(out, size, failure); err != nil {
			return 0, nil, err
		}
		return 0, failure, nil
	case kind != want || size > most:
		return 0, nil, fmt.Errorf("%w: %d bytes of kind %q; at most %d of kind %q were expected", frame.ErrInvalid, size, kind, most, want)
	}
	return size, nil, nil
}
