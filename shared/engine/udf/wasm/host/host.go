// Package host runs one WebAssembly function in a process of its own, the child of the program that calls
// the function. It is the only package that contains a WebAssembly runtime, wazero.
//
// The module follows ABI version 1 (docs/functions.md). Its memory is bounded by the runtime, and that of
// the process by the operating system. On a timeout the parent kills the process, because clock checks
// within compiled loops would make them many times slower.
//
//   - host.go: the process, and its conversation with the parent
//   - guest.go: an instance of a module, its exports and their arguments
//   - wasi.go: the allowed imports of a module
//   - cache.go: the folder of compiled code
package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"tiltyard/shared/engine/udf/wasm/frame"
)

// Intercept runs the child, if the program was started with frame.Argument, and does not return then. A program that runs
// functions must call it first.
func Intercept() {
	if len(os.Args) != 2 || os.Args[1] != frame.Argument {
		return
	}
	if err := serveProcess(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// closeTime bounds the close function of a module, and the time for which a looping module outlives a dead
// parent.
const closeTime = time.Second

// serveProcess serves standard input, which it also reads while a module runs: its end means that the
// parent has closed the function, or has died.
func serveProcess() error {
	debug.SetTraceback("none") // foreign code controls the content of the stacks
	in, out := io.Pipe()
	go func() {
		_, err := io.Copy(out, os.Stdin)
		_ = out.CloseWithError(err)
		time.Sleep(closeTime)
		os.Exit(1)
	}()
	return Serve(in, os.Stdout)
}

// Serve exchanges frames with the parent until in ends or the module fails. An error means a broken pipe or
// a violation of the protocol by the parent.
func Serve(in io.Reader, out io.Writer) error {
	size, err := frame.Expect(in, frame.Setup, frame.MaxText)
	if err != nil {
		return err
	}
	var order frame.Order
	if err := frame.ReadJSON(in, size, &order); err != nil {
		return err
	}
	// The limits apply before any byte of the module is read.
	if err := limitProcess(&order); err != nil {
		return err
	}
	if size, err = frame.Expect(in, frame.Module, order.ModuleBytes); err != nil {
		return err
	}
	module := make([]byte, size)
	if _, err := io.ReadFull(in, module); err != nil {
		return err
	}
	ctx := context.Background()
	g, failure := open(ctx, &order, module)
	if failure != nil {
		return frame.WriteJSON(out, frame.Failed, failure)
	}
	defer g.close(ctx)
	if err := frame.Write(out, frame.Opened); err != nil {
		return err
	}
	for {
		more, err := serveCall(ctx, g, &order, in, out)
		if err != nil || !more {
			return err
		}
	}
}

// serveCall answers one call. more is false if the module cannot take further calls.
func serveCall(ctx context.Context, g *guest, order *frame.Order, in io.Reader, out io.Writer) (more bool, err error) {
	size, err := frame.Expect(in, frame.Call, order.CallBytes)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	reply, failure, err := g.call(ctx, in, size)
	if err != nil {
		return false, err
	}
	if failure != nil {
		return failure.Recoverable, frame.WriteJSON(out, frame.Failed, failure)
	}
	if err := frame.Write(out, frame.Result, reply); err != nil {
		return false, err
	}
	if failure = g.freeArgument(ctx); failure != nil {
		return false, nil // the parent notices at its next call
	}
	return true, nil
}
