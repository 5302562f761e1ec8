package executor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/arrowipc"
	"tiltyard/shared/function"
	"tiltyard/shared/pause"
	"tiltyard/shared/protocol"
)

// A Carrier brings calls to one executor. Its methods may be called at once by several goroutines.
type Carrier interface {
	// Connect prepares for calls of one use of a function. It need not reach the executor. The caller
	// closes the Line.
	Connect() Line
}

// A Line carries the calls of one use of a function, one at a time.
type Line interface {
	// Do sends a call and returns the stream of the reply, or a *Fault: one of the reply, one that names
	// why there is no reply, or TooLarge when the reply is longer than limit. It returns soon after the end
	// of ctx, with the error of ctx or any other. Repetitions are the caller's, who releases the reply.
	Do(ctx context.Context, c *Call, stream []byte, limit int64) (*Bytes, error)

	// Close ends what Connect and Do have begun.
	Close() error
}

// A Narrow is a Line that carries less beside a call than the payload of its executor. It may take more by a
// detour, so that batches are cut to what it carries, and a batch that cannot be cut is tried.
type Narrow interface {
	// Room returns how many bytes of a stream it carries beside a call.
	Room(c *Call) int64
}

// A Call is what an executor learns beside the rows.
type Call struct {
	Format         int               `json:"tiltyard"` // 1
	Function       string            `json:"function"`
	Version        string            `json:"version"`
	Kind           string            `json:"kind"`              // of the artifact
	Backend        string            `json:"backend,omitempty"` // of an envelope: what can load it
	Batch          bool              `json:"batch,omitempty"`   // an envelope's function takes several rows at once
	Entrypoint     string            `json:"entrypoint,omitempty"`
	Digest         string            `json:"digest"`
	Artifact       []byte            `json:"artifact,omitempty"`
	ArtifactURL    string            `json:"artifact_url,omitempty"` // where it is instead: see package lambdaexec
	Adapter        Adapter           `json:"adapter"`
	Outputs        []byte            `json:"outputs"`                  // an Arrow stream of the outputs without batches
	Initialization []byte            `json:"initialization,omitempty"` // an Arrow stream of one row
	Environment    map[string]string `json:"env,omitempty"`            // with values of secrets among them
	Binding        string            `json:"binding,omitempty"`
	Job            string            `json:"job,omitempty"`
	Trace          string            `json:"traceparent,omitempty"` // of W3C Trace Context, when there are traces
	Attempt        int               `json:"attempt"`               // of this call, from 1
	Milliseconds   int64             `json:"deadline_ms"`           // how long the executor has
	ReplyBytes     int64             `json:"reply_bytes"`           // of the longest stream of a reply; the fault of a longer one is TooLarge
}

// An Adapter is how a function of Python is called with batches of rows.
type Adapter struct {
	Kind    string `json:"kind"`
	Version int    `json:"version"`
}

// adapters are by the shapes of functions.
var adapters = map[function.Shape]Adapter{
	function.EachRow:  {"scalar_to_arrow_batch", 1},
	function.ManyRows: {"row_to_arrow_rows", 1},
	function.AllRows:  {"table_to_arrow_rows", 1},
}

// A Fault is the failure of a call as a whole. Its text may hold values of secrets until the caller of
// the function has removed them.
type Fault struct {
	Type      string `json:"error_type"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`

	After time.Duration `json:"-"` // the executor asks not to be called for this long
	Lost  bool          `json:"-"` // the executor cannot be used, as long as this lasts: fewer rows do not help
	Err   error         `json:"-"` // the cause, for the log only; may be nil
}

func (f *Fault) Error() string { return f.Type + ": " + f.Message }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// The types of faults that carriers and callers find.
const (
	Unreachable = "ExecutorUnreachable" // there was no reply
	Refused     = "ExecutorRefused"     // the executor does not take calls from here
	Overloaded  = "ExecutorOverloaded"
	Crashed     = "ExecutorCrashed" // the executor ended during the call
	TimedOut    = "ExecutorTimeout"
	TooLarge    = "TooLarge"     // for a call or a reply
	Malformed   = "InvalidReply" // the reply does not fit the call
)

// ReadFault reads the JSON object of a fault. What is none becomes one of the type Malformed.
func ReadFault(data []byte) *Fault {
	f := new(Fault)
	if err := json.Unmarshal(data, f); err != nil || f.Type == "" {
		return &Fault{Type: Malformed, Message: "the executor answered neither a stream nor an error_type and a message"}
	}
	return f
}

// Options are what executors need beside their configuration.
type Options struct {
	// Secret returns the value of the secret with an id as text, for keys. It may be nil when no key is one.
	Secret func(ctx context.Context, id string) ([]byte, error)
	// Lambda opens the carrier to a function of AWS. It may be nil when no executor is one.
	Lambda func(arn string) (Carrier, error)
	// Wait waits between attempts; nil is [pause.For].
	Wait func(ctx context.Context, d time.Duration) error
}

// A Set is the runtime of all executors of a deployment.
type Set struct {
	configs   []Config
	executors []*executor
	wait      func(ctx context.Context, d time.Duration) error
}

// An executor is a place where functions run.
type executor struct {
	Config
	carrier Carrier
	slots   chan struct{} // has an element for each running call
}

// Open opens executors. It reaches none of them, and starts no command.
func Open(configs []Config, o Options) (*Set, error) {
	s := &Set{configs: configs, wait: o.Wait}
	if s.wait == nil {
		s.wait = pause.For
	}
	for _, c := range configs {
		carrier, err := open(c, o)
		if err != nil {
			return nil, fmt.Errorf("executor %s: %w", c.Name, err)
		}
		s.executors = append(s.executors, &executor{Config: c, carrier: carrier, slots: make(chan struct{}, c.Concurrency)})
	}
	return s, nil
}

func open(c Config, o Options) (Carrier, error) {
	switch {
	case c.IsCommand():
		return command{c.Address[len(execScheme):]}, nil
	case c.ARN() == "":
		return newHTTPS(c, o.Secret)
	case o.Lambda == nil:
		return nil, errors.New("this program calls no functions of AWS")
	}
	return o.Lambda(c.ARN())
}

// maxArtifactBytes is the size of the largest artifact that calls carry: that of the largest request which
// brings one.
const maxArtifactBytes = 16 << 20

// Open chooses the executor for a function. It does not call it; a batch of no rows does, and shows
// whether the executor can load the function.
func (s *Set) Open(_ context.Context, spec function.Spec) (function.Caller, error) {
	at, d, err := match(s.configs, spec.Runtime)
	if err != nil {
		return nil, err
	}
	e := s.executors[at]
	if len(spec.Artifact) > maxArtifactBytes {
		return nil, refused(protocol.InvalidInput, fmt.Sprintf("the artifact of the function has %d bytes", len(spec.Artifact)),
			fmt.Sprintf("calls of executors carry %d at most; put large files into the image of the executor", maxArtifactBytes), nil)
	}
	outputs, err := emptyStream(spec.Outputs)
	if err != nil {
		return nil, fmt.Errorf("describe the outputs of function %s: %w", spec.Name, err)
	}
	c := &caller{
		executor: e, spec: spec, wait: s.wait, line: e.carrier.Connect(), rows: firstRows, most: mostRows,
		schema: arrow.NewSchema(spec.Inputs, nil), conceal: concealer(spec.Environment),
		call: Call{
			Format: 1, Function: spec.Name, Version: spec.Version, Kind: spec.Kind, Entrypoint: spec.Entrypoint, Digest: spec.Digest,
			Backend: d.Backend, Batch: d.Batch, Artifact: spec.Artifact, Adapter: adapters[spec.Shape], Outputs: outputs,
			Initialization: spec.Initialization, Environment: spec.Environment, Binding: spec.Binding, Job: spec.Job,
		},
		room: e.PayloadBytes,
	}
	if narrow, ok := c.line.(Narrow); ok {
		c.room = min(c.room, narrow.Room(&c.call))
	}
	return c, nil
}

func emptyStream(fields []arrow.Field) ([]byte, error) {
	var b bytes.Buffer
	err := arrowipc.NewStreamWriter(&b, arrow.NewSchema(fields, nil), arrowipc.Uncompressed).Close()
	return b.Bytes(), err
}

// take waits until the executor may be called once more.
func (e *executor) take(ctx context.Context) error {
	select {
	case e.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *executor) give() { <-e.slots }
