package runtimeapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Config describes a function. All fields are required.
type Config struct {
	Name      string
	Bootstrap string        // path of the program
	Env       []string      // NAME=value, in addition to the variables of Lambda
	Timeout   time.Duration // for one event
	Instances int           // maximum of running instances
	Log       io.Writer     // output of the program; must be safe for concurrent use
}

// A Function runs instances of one program. It is safe for concurrent use.
//
// When another file replaces the program, the next events go to instances of the new program, as
// after an update in AWS. Running events end where they began. The file must be replaced by a
// rename, so that it is complete at any time.
type Function struct {
	config Config
	slots  chan struct{} // one for each instance that runs or may be started

	mu   sync.Mutex
	idle []*instance
}

// New returns a function without running instances.
func New(config Config) *Function {
	return &Function{config: config, slots: make(chan struct{}, config.Instances)}
}

// An Error is the error that a function reported, or the reason why it did not respond.
type Error struct {
	Function string
	Message  string // JSON if it comes from the program
}

// Error returns a text for logs.
func (e *Error) Error() string { return "function " + e.Function + ": " + e.Message }

// ErrTimeout is wrapped by the error of an event that was not answered in time.
var ErrTimeout = errors.New("timed out")

// maxAnswerBytes bounds the result of Invoke. Lambda accepts 6 MiB; the caller can detect a larger
// response.
const maxAnswerBytes = 8 << 20

// Invoke passes an event to an idle instance, or to a new one, and returns its answer. It waits
// while all instances are busy. The error is an *[Error] if the function failed.
func (f *Function) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	var answer []byte
	err := f.Stream(ctx, event, func(_ string, body io.Reader) (err error) {
		answer, err = io.ReadAll(io.LimitReader(body, maxAnswerBytes))
		return err
	})
	return answer, err
}

// Stream passes an event like Invoke, but calls take with the answer while it arrives. The timeout
// of the function includes take. Stream returns the error of take.
func (f *Function) Stream(ctx context.Context, event []byte, take func(contentType string, body io.Reader) error) error {
	select {
	case f.slots <- struct{}{}:
		defer func() { <-f.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	i, err := f.idleOrNew()
	if err != nil {
		return err
	}
	err = i.invoke(event, f.config.Timeout, take)
	if i.ended() {
		return errors.Join(err, i.close())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.idle = append(f.idle, i)
	return err
}

// idleOrNew returns the instance that was busy last, or a new one.
func (f *Function) idleOrNew() (*instance, error) {
	f.mu.Lock()
	if n := len(f.idle); n > 0 {
		i := f.idle[n-1]
		f.idle = f.idle[:n-1]
		f.mu.Unlock()
		if !i.ended() && i.isCurrent() {
			return i, nil
		}
		if err := i.close(); err != nil {
			return nil, err
		}
		return f.idleOrNew()
	}
	f.mu.Unlock()
	i, err := start(f.config)
	if err != nil {
		return nil, fmt.Errorf("start function %s: %w", f.config.Name, err)
	}
	return i, nil
}

// Close ends the idle instances. Invoke must not be called any more.
func (f *Function) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var failed []error
	for _, i := range f.idle {
		failed = append(failed, i.close())
	}
	f.idle = nil
	return errors.Join(failed...)
}
