// Package wasm runs functions that are WebAssembly modules of ABI version 1 (docs/functions.md). Each open
// function has a child process with package host: the program starts itself again.
//
// The child gets the module, the batches and the declared variables through a pipe, and nothing else: no
// environment, no files. The parent verifies each reply before it is used. It kills a child on a timeout,
// and starts another one for the next call.
//
//   - runtime.go: the limits, and the opening of a function
//   - call.go: a batch, and its division after a failure
//   - exchange.go: one call of the child
//   - process.go: the child process
//   - reply.go: the verification of a reply
package wasm

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/engine/udf/wasm/frame"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
)

// Kind is the kind of the artifacts that the runtime runs.
const Kind = "wasm_module"

// Limits bounds the resources of a function. A zero field selects its default.
type Limits struct {
	ModuleBytes int64         // of a module; default 16 MiB
	MemoryBytes int64         // of a module that runs; default 256 MiB
	CallTime    time.Duration // of one call; default 30 seconds
	BatchRows   int           // of one call; default 4,096
	BatchBytes  int64         // of the parameters of one call; default 16 MiB
	ResultBytes int64         // of the outputs of one call; default 64 MiB
}

// withDefaults returns the limits with defaults in place of values that are not positive.
func (l Limits) withDefaults() Limits {
	l.ModuleBytes = positive(l.ModuleBytes, 16<<20)
	l.MemoryBytes = positive(l.MemoryBytes, 256<<20)
	l.CallTime = positive(l.CallTime, 30*time.Second)
	l.BatchRows = positive(l.BatchRows, 4096)
	l.BatchBytes = positive(l.BatchBytes, 16<<20)
	l.ResultBytes = positive(l.ResultBytes, 64<<20)
	return l
}

func positive[T int | int64 | time.Duration](v, otherwise T) T {
	if v > 0 {
		return v
	}
	return otherwise
}

// openTimes is the timeout of opening a function, which includes compilation, as a multiple of the timeout
// of a call.
const openTimes = 3

// A Runtime opens functions that are WebAssembly modules.
type Runtime struct {
	program []string
	began   func(job string) time.Time
	cache   string
	limits  Limits
}

// NewRuntime returns a runtime. program is the command, with its arguments, that runs package host. began
// returns the start time of a job, the only time that functions see; it may be nil in programs without
// jobs.
func NewRuntime(program []string, began func(job string) time.Time, limits Limits) *Runtime {
	return &Runtime{
		program: program, began: began, limits: limits.withDefaults(),
		cache: filepath.Join(os.TempDir(), "tiltyard-wasm-"+strconv.Itoa(os.Geteuid())),
	}
}

// Open starts a child process for the function, compiles the module, and calls it with a batch of no
// rows. So a function that could be opened follows the ABI.
func (r *Runtime) Open(ctx context.Context, s udf.Spec) (udf.Caller, error) {
	if err := r.check(s); err != nil {
		return nil, err
	}
	order, err := r.order(s)
	if err != nil {
		return nil, err
	}
	c := &caller{runtime: r, spec: s, order: order, conceal: concealer(s.Environment), inputs: schemaOf(s.Inputs), outputs: schemaOf(s.Outputs)}
	if c.memory, err = memory.Take(ctx, r.limits.MemoryBytes); err != nil {
		return nil, err
	}
	if err := c.prove(ctx); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// check refuses functions that cannot be run, before a process is started.
func (r *Runtime) check(s udf.Spec) error {
	refuse := func(code protocol.Code, format string, args ...any) error {
		err := protocol.Errorf(code, format, args...)
		err.Object = "function " + s.Name
		return err
	}
	switch {
	case s.Kind != Kind:
		return refuse(protocol.Unsupported, "the runtime wasm runs artifacts of kind %s, not %q", Kind, s.Kind)
	case s.Entrypoint != "":
		return refuse(protocol.InvalidInput, "a WebAssembly module has no entrypoint; %q was given", s.Entrypoint)
	case int64(len(s.Artifact)) > r.limits.ModuleBytes:
		return refuse(protocol.InvalidInput, "the module has %d bytes; %d are allowed (setting wasm-module-bytes)", len(s.Artifact), r.limits.ModuleBytes)
	case len(s.Outputs) == 0:
		return refuse(protocol.InvalidInput, "it has no outputs")
	}
	for _, f := range append(append([]arrow.Field{}, s.Inputs...), s.Outputs...) {
		if take.HasDictionary(f.Type) || hasExtension(f.Type) {
			return refuse(protocol.Unsupported, "the type %s of %q; WebAssembly functions take and return plain types, without dictionaries and extensions", f.Type, f.Name)
		}
	}
	return nil
}

// order returns the description of the function for the child.
func (r *Runtime) order(s udf.Spec) ([]byte, error) {
	argument, err := json.Marshal(struct {
		Function       string `json:"function"`
		Version        string `json:"version"`
		Binding        string `json:"binding"`
		Job            string `json:"job"`
		Initialization []byte `json:"initialization,omitempty"` // in base64
	}{s.Name, s.Version, s.Binding, s.Job, s.Initialization})
	if err != nil {
		return nil, err
	}
	o := frame.Order{
		Open: argument, Environment: s.Environment, Seed: s.Digest + "/" + s.Version, Time: time.Unix(0, 0).UTC(), Cache: r.cache,
		ModuleBytes: r.limits.ModuleBytes, MemoryBytes: r.limits.MemoryBytes, CallBytes: r.limits.BatchBytes, ResultBytes: r.limits.ResultBytes,
	}
	if s.Job != "" && r.began != nil {
		o.Time = r.began(s.Job)
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	if len(text) > frame.MaxText {
		err := protocol.Errorf(protocol.InvalidInput, "its initialization and its variables have %d bytes; %d are allowed", len(text), frame.MaxText)
		err.Object = "function " + s.Name
		return nil, err
	}
	return text, nil
}

// prove calls the function with a batch of no rows.
func (c *caller) prove(ctx context.Context) error {
	columns := make([]arrow.Array, len(c.spec.Inputs))
	for i, f := range c.spec.Inputs {
		columns[i] = take.Nulls(f.Type, 0)
	}
	result, err := c.Call(ctx, array.NewRecordBatch(c.inputs, columns, 0))
	if err != nil {
		return err
	}
	result.Outputs.Release()
	return nil
}

// schemaOf returns the schema of parameters or outputs, all of which are nullable.
func schemaOf(declared []arrow.Field) *arrow.Schema {
	fields := make([]arrow.Field, len(declared))
	for i, f := range declared {
		fields[i] = arrow.Field{Name: f.Name, Type: f.Type, Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

// hasExtension reports whether a type is, or contains, an extension type.
func hasExtension(t arrow.DataType) bool {
	if t.ID() == arrow.EXTENSION {
		return true
	}
	nested, ok := t.(arrow.NestedType)
	if !ok {
		return false
	}
	for _, f := range nested.Fields() {
		if hasExtension(f.Type) {
			return true
		}
	}
	return false
}

// concealer returns a concealer of the values of all variables, because they may be secrets.
func concealer(environment map[string]string) *udf.Concealer {
	return udf.NewConcealer(slices.Collect(maps.Values(environment))...)
}
