package executor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/process/backoff"
	"tiltyard/shared/protocol"
)

// A Carrier transports calls to one executor. It is safe for concurrent use.
type Carrier interface {
	// Connect prepares for the calls of one use of a function, without necessarily contacting the executor.
	// The caller closes the Line.
	Connect() Line
}

// A Line transports the calls of one use of a function, one at a time.
type Line interface {
	// Do sends a call and returns the stream of the reply, or a *Fault. The Fault comes from the reply,
	// or describes why there is no reply; it is TooLarge if the reply exceeds limit. Do returns soon
	// after the end of ctx, with any error. The caller retries, and releases the reply.
	Do(ctx context.Context, c *Call, stream []byte, limit int64) (*Bytes, error)

	// Close releases the resources of the Line.
	Close() error
}

// A Narrow is a Line whose carrier transports less in a call than the executor's payload. Batches are cut
// to its limit. A single row that exceeds it is tried anyway, because the carrier may transport it by a
// detour.
type Narrow interface {
	// Room returns the size of the longest stream that the Line transports with a call.
	Room(c *Call) int64
}

// A Call contains all inputs of an executor except the rows.
type Call struct {
	Format         int               `json:"tiltyard"` // 1
	Function       string            `json:"function"`
	Version        string            `json:"version"`
	Kind           string            `json:"kind"`              // of the artifact
	Backend        string            `json:"backend,omitempty"` // of an envelope: the library that can load it
	Batch          bool              `json:"batch,omitempty"`   // an envelope's function takes several rows at once
	Entrypoint     string            `json:"entrypoint,omitempty"`
	Digest         string            `json:"digest"`
	Artifact       []byte            `json:"artifact,omitempty"`
	ArtifactURL    string            `json:"artifact_url,omitempty"` // in place of Artifact: see package lambdaexec
	Adapter        Adapter           `json:"adapter"`
	Outputs        []byte            `json:"outputs"`                  // the output columns, as an Arrow stream without batches
	Initialization []byte            `json:"initialization,omitempty"` // an Arrow stream of one row
	Environment    map[string]string `json:"env,omitempty"`            // may include values of secrets
	Binding        string            `json:"binding,omitempty"`
	Job            string            `json:"job,omitempty"`
	Trace          string            `json:"traceparent,omitempty"` // W3C Trace Context; empty without tracing
	Attempt        int               `json:"attempt"`               // of this call, from 1
	Milliseconds   int64             `json:"deadline_ms"`           // time limit of the executor
	ReplyBytes     int64             `json:"reply_bytes"`           // limit of the reply's stream; the fault of a longer one is TooLarge
}

// An Adapter selects how a Python function is called with batches of rows.
type Adapter struct {
	Kind    string `json:"kind"`
	Version int    `json:"version"`
}

// adapters are by the shapes of functions.
var adapters = map[udf.Shape]Adapter{
	udf.EachRow:  {"scalar_to_arrow_batch", 1},
	udf.ManyRows: {"row_to_arrow_rows", 1},
	udf.AllRows:  {"table_to_arrow_rows", 1},
}

// A Fault is the failure of a call as a whole. Its text may contain values of secrets until the function's
// caller removes them.
type Fault struct {
	Type      string `json:"error_type"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`

	After time.Duration `json:"-"` // the pause that the executor requests
	Lost  bool          `json:"-"` // the executor cannot be used, as long as this lasts: fewer rows do not help
	Err   error         `json:"-"` // the cause, for the log only; may be nil
}

func (f *Fault) Error() string { return f.Type + ": " + f.Message }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// The types of faults that carriers and callers find.
const (
	Unreachable = "ExecutorUnreachable" // there was no reply
	Refused     = "ExecutorRefused"     // the executor does not accept calls of this server
	Overloaded  = "ExecutorOverloaded"
	Crashed     = "ExecutorCrashed" // the executor ended during the call
	TimedOut    = "ExecutorTimeout"
	TooLarge    = "TooLarge"     // for a call or a reply
	Malformed   = "InvalidReply" // the reply does not fit the call
)

// ReadFault parses the JSON object of a fault. Any other data becomes a fault of type Malformed.
func ReadFault(data []byte) *Fault {
	f := new(Fault)
	if err := json.Unmarshal(data, f); err != nil || f.Type == "" {
		return &Fault{Type: Malformed, Message: "the executor answered neither a stream nor an error_type and a message"}
	}
	return f
}

// Options holds the dependencies of executors.
type Options struct {
	// Secret returns the value of a secret by its id as text, for keys. It may be nil if no executor's key
	// is a secret.
	Secret func(ctx context.Context, id string) ([]byte, error)
	// Lambda opens the carrier to a Lambda function. It may be nil if no executor is one.
	Lambda func(arn string) (Carrier, error)
	// Wait pauses between attempts; nil selects [backoff.Sleep].
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

// Open opens executors, without contacting them or starting commands.
func Open(configs []Config, o Options) (*Set, error) {
	s := &Set{configs: configs, wait: o.Wait}
	if s.wait == nil {
		s.wait = backoff.Sleep
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

// open returns the carrier for the address of an executor. A Lambda function is an error in a program
// without an AWS client.
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

// maxArtifactBytes is the maximal size of an artifact in a call. It equals the limit of requests that
// upload artifacts.
const maxArtifactBytes = 16 << 20

// Open selects the executor for a function, without a call. A call with an empty batch shows whether the
// executor can load the function.
func (s *Set) Open(_ context.Context, spec udf.Spec) (udf.Caller, error) {
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
	// Some carriers transport less than the payload of the executor.
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

// take waits for a free slot of the executor.
func (e *executor) take(ctx context.Context) error {
	select {
	case e.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *executor) give() { <-e.slots }
