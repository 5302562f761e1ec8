package runtimeapi

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// apiPath is the prefix of the paths of the runtime API.
const apiPath = "/2018-06-01/runtime/"

// An invocation is an event that is being handled.
type invocation struct {
	id       string
	event    []byte
	deadline time.Time
	answer   chan result   // has capacity 1
	taken    chan struct{} // closed when the answer is no longer read
}

// A result is an answer that is still arriving, or an error.
type result struct {
	contentType string
	body        io.Reader
	err         error
}

// An instance is a running program and the server from which it fetches events.
type instance struct {
	config Config
	server *http.Server
	served chan struct{} // closed when the server has ended
	events chan *invocation
	exited chan struct{} // closed when the program has ended

	process *exec.Cmd
	program os.FileInfo // identifies the started file

	mu      sync.Mutex
	current *invocation
}

// start starts the program, without waiting until it is ready. The program then fetches its first
// event.
func start(config Config) (*instance, error) {
	// Neither the program nor the server ends with a request, because the instance serves further ones.
	background := context.Background()
	var listen net.ListenConfig
	listener, err := listen.Listen(background, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	i := &instance{
		config: config, events: make(chan *invocation), exited: make(chan struct{}), served: make(chan struct{}),
	}
	if i.program, err = os.Stat(config.Bootstrap); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	i.server = &http.Server{Handler: i.routes(), ReadHeaderTimeout: time.Minute}
	go func() {
		defer close(i.served)
		_ = i.server.Serve(listener) // ends when close closes the server
	}()
	i.process = exec.CommandContext(background, config.Bootstrap)
	i.process.Env = append([]string{
		"AWS_LAMBDA_RUNTIME_API=" + listener.Addr().String(),
		"AWS_LAMBDA_FUNCTION_NAME=" + config.Name,
		"AWS_LAMBDA_FUNCTION_VERSION=$LATEST",
	}, config.Env...)
	i.process.Stdout, i.process.Stderr = config.Log, config.Log
	if err := i.process.Start(); err != nil {
		close(i.exited)
		return nil, errors.Join(err, i.close())
	}
	go func() {
		defer close(i.exited)
		_ = i.process.Wait() // only the fact matters that it ended
	}()
	return i, nil
}

// isCurrent reports whether the instance runs the current program file.
func (i *instance) isCurrent() bool {
	now, err := os.Stat(i.config.Bootstrap)
	return err == nil && os.SameFile(now, i.program)
}

// invoke passes an event to the program, and its answer to take.
func (i *instance) invoke(event []byte, timeout time.Duration, take func(contentType string, body io.Reader) error) error {
	v := &invocation{
		id: rand.Text(), event: event, deadline: time.Now().Add(timeout),
		answer: make(chan result, 1), taken: make(chan struct{}),
	}
	defer close(v.taken)
	var late atomic.Bool
	timer := time.AfterFunc(timeout, func() {
		late.Store(true)
		_ = i.process.Process.Kill() // it may have ended already
	})
	defer timer.Stop()
	err := i.await(v, take)
	if late.Load() {
		<-i.exited
		return fmt.Errorf("function %s: %w after %v", i.config.Name, ErrTimeout, timeout)
	}
	return err
}

// await waits for the answer to an event, or for the end of the program.
func (i *instance) await(v *invocation, take func(contentType string, body io.Reader) error) error {
	events := i.events
	for {
		select {
		case events <- v:
			events = nil // the program has the event
		case r := <-v.answer:
			if r.err != nil {
				return r.err
			}
			return take(r.contentType, r.body)
		case <-i.exited:
			return &Error{Function: i.config.Name, Message: "the program ended"}
		}
	}
}

// routes returns the handler of the runtime API.
func (i *instance) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+apiPath+"invocation/next", i.next)
	mux.HandleFunc("POST "+apiPath+"invocation/{id}/response", func(w http.ResponseWriter, r *http.Request) {
		i.finish(w, r, result{contentType: r.Header.Get("Content-Type"), body: &answer{function: i.config.Name, request: r}})
	})
	mux.HandleFunc("POST "+apiPath+"invocation/{id}/error", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(io.LimitReader(r.Body, maxAnswerBytes))
		i.finish(w, r, result{err: &Error{Function: i.config.Name, Message: string(body)}})
	})
	mux.HandleFunc("POST "+apiPath+"init/error", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(io.LimitReader(r.Body, maxAnswerBytes))
		fmt.Fprintf(i.config.Log, "function %s cannot start: %s\n", i.config.Name, body)
		w.WriteHeader(http.StatusAccepted)
	})
	return mux
}

// next responds when there is an event.
func (i *instance) next(w http.ResponseWriter, r *http.Request) {
	select {
	case v := <-i.events:
		i.mu.Lock()
		i.current = v
		i.mu.Unlock()
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", v.id)
		w.Header().Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(v.deadline.UnixMilli(), 10))
		w.Header().Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:000000000000:function:"+i.config.Name)
		w.Header().Set("Lambda-Runtime-Trace-Id", "Root=1-"+strings.Repeat("0", 8)+"-"+strings.Repeat("0", 24))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(v.event)
	case <-r.Context().Done():
	}
}

// finish passes on the result of the current event, and waits until it has been read.
func (i *instance) finish(w http.ResponseWriter, r *http.Request, got result) {
	i.mu.Lock()
	v := i.current
	known := v != nil && v.id == r.PathValue("id")
	if known {
		i.current = nil
	}
	i.mu.Unlock()
	if !known {
		http.Error(w, `{"errorType":"InvalidRequestID"}`, http.StatusBadRequest)
		return
	}
	v.answer <- got
	<-v.taken
	_, _ = io.Copy(io.Discard, r.Body) // read the rest, so that the program can continue
	w.WriteHeader(http.StatusAccepted)
}

// An answer is a body that is arriving. A trailer reports that the program could not complete it.
type answer struct {
	function string
	request  *http.Request
}

func (a *answer) Read(p []byte) (int, error) {
	n, err := a.request.Body.Read(p)
	switch {
	case err == nil:
	case err != io.EOF:
		err = &Error{Function: a.function, Message: "the answer broke off: " + err.Error()}
	case a.request.Trailer.Get("Lambda-Runtime-Function-Error-Type") != "":
		message, _ := base64.StdEncoding.DecodeString(a.request.Trailer.Get("Lambda-Runtime-Function-Error-Body"))
		err = &Error{Function: a.function, Message: string(message)}
	}
	return n, err
}

// ended reports whether the program has ended.
func (i *instance) ended() bool {
	select {
	case <-i.exited:
		return true
	default:
		return false
	}
}

// close ends the program and its server. It kills a program that ignores the interrupt.
func (i *instance) close() error {
	if !i.ended() {
		_ = i.process.Process.Signal(os.Interrupt) // it may have ended already
		select {
		case <-i.exited:
		case <-time.After(2 * time.Second):
			_ = i.process.Process.Kill()
			<-i.exited
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // no request is running any more
	if err := i.server.Shutdown(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	err := i.server.Close()
	<-i.served
	return err
}
