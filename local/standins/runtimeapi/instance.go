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

// apiPath is in front of the paths of the runtime API.
const apiPath = "/2018-06-01/runtime/"

// An invocation is an event on its way.
type invocation struct {
	id       string
	event    []byte
	deadline time.Time
	answer   chan result   // holds one
	taken    chan struct{} // closed when nobody reads the answer any more
}

// A result is an answer that is still coming, or an error.
type result struct {
	contentType string
	body        io.Reader
	err         error
}

// An instance is a running program and the server that it asks for events.
type instance struct {
	config Config
	server *http.Server
	served chan struct{} // closed when the server has ended
	events chan *invocation
	exited chan struct{} // closed when the program has ended

	process *exec.Cmd
	program os.FileInfo // of the file that was started

	mu      sync.Mutex
	current *invocation
}

// start starts the program. It asks for its first event when it is ready, which start
// does not wait for.
func start(config Config) (*instance, error) {
	// Neither ends with a request: the instance serves the next one, too.
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
		_ = i.server.Serve(listener) // ends when close closes it
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
		_ = i.process.Wait() // how it ended is not as important as that it did
	}()
	return i, nil
}

// isCurrent reports whether the instance runs the program that is in place now.
func (i *instance) isCurrent() bool {
	now, err := os.Stat(i.config.Bootstrap)
	return err == nil && os.SameFile(now, i.program)
}

// invoke hands over an event, and its answer as it comes.
func (i *instance) invoke(event []byte, timeout time.Duration, take func(contentType string, body io.Reader) error) error {
	v := &invocation{
		id: rand.Text(), event: event, deadline: time.Now().Add(timeout),
		answer: make(chan result, 1), taken: make(chan struct{}),
	}
	defer close(v.taken)
	var late atomic.Bool
	timer := time.AfterFunc(timeout, func() {
		late.Store(true)
		_ = i.process.Process.Kill() // it may have ended by itself
	})
	defer timer.Stop()
	err := i.await(v, take)
	if late.Load() {
		<-i.exited
		return fmt.Errorf("function %s: %w after %v", i.config.Name, ErrTimeout, timeout)
	}
	return err
}

func (i *instance) await(v *invocation, take func(contentType string, body io.Reader) error) error {
	events := i.events
	for {
		select {
		case events <- v:
			events = nil // it is on its way
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

// next answers when there is an event.
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

// finish hands on what the program makes of the current event, and waits until it was taken.
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
	_, _ = io.Copy(io.Discard, r.Body) // the program goes on when nobody reads
	w.WriteHeader(http.StatusAccepted)
}

// An answer is a body on its way. A program that cannot complete it says so behind it.
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

// ended reports whether the program is no longer running.
func (i *instance) ended() bool {
	select {
	case <-i.exited:
		return true
	default:
		return false
	}
}

// close ends the program and its server. A program that does not end when asked is killed.
func (i *instance) close() error {
	if !i.ended() {
		_ = i.process.Process.Signal(os.Interrupt) // it may have ended by itself
		select {
		case <-i.exited:
		case <-time.After(2 * time.Second):
			_ = i.process.Process.Kill()
			<-i.exited
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // nobody asks any more
	if err := i.server.Shutdown(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	err := i.server.Close()
	<-i.served
	return err
}
