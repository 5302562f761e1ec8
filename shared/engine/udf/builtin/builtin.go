// Package builtin implements the functions built into the service: digests of texts and their parts, text
// of HTML, and vectors of another length. They run in the process, because they contain no code of a
// caller. They are deterministic.
//
// A declaration names a function in its runtime:
//
//	{"kind": "builtin", "function": "split_text"}
//
// with an artifact of kind none, without content. A function has one parameter and one output. The
// constants of a use are its arguments. A row with a NULL input fails, except in functions that cut texts,
// which return no pieces.
package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine/udf"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
)

// ArtifactKind is the kind of the artifacts.
const ArtifactKind = "none"

// A Runtime opens built-in functions. Its zero value is ready.
type Runtime struct{}

// A builtin is a function.
type builtin struct {
	constants []constant
	types     func(u use) error // refuses types that the function does not support
	// open returns the step for rows of these types. Its errors name the invalid argument.
	open func(u use) (step, error)
}

// A use is a function with its types and arguments.
type use struct {
	input, output arrow.DataType
	args          arguments
}

// A step computes the output of a row and appends it. A *rowError means that the row has failed and nothing
// was appended.
type step func(ctx context.Context, in arrow.Array, row int, out array.Builder) error

// A rowError is the reason why a row has no output.
type rowError struct{ kind, message string }

func (e *rowError) Error() string { return e.kind + ": " + e.message }

func failed(kind, format string, args ...any) error {
	return &rowError{kind, fmt.Sprintf(format, args...)}
}

// builtins are the functions by name.
var builtins = map[string]builtin{
	"sha256":       {types: checkDigest, open: openSHA256},
	"html_text":    {types: checkTexts, open: openHTML},
	"normalize_l2": {types: checkVectors, open: openNormalize},
	"truncate_vector": {
		types: checkVectors, open: openTruncate,
		constants: []constant{{name: dimensions, typ: arrow.INT64}, {name: "normalize", typ: arrow.BOOL, optional: true}},
	},
	"json_rows":       splitter("json_rows"),
	"split_lines":     splitter("split_lines"),
	"split_markdown":  splitter("split_markdown"),
	"split_sentences": splitter("split_sentences"),
	"split_text":      splitter("split_text"),
}

// Open checks the types of the function and the arguments of the use. A function that is opened outside of a
// use may lack arguments, and then computes no rows.
func (Runtime) Open(ctx context.Context, s udf.Spec) (udf.Caller, error) {
	name, one, err := find(s)
	if err != nil {
		return nil, err
	}
	refuse := func(format string, args ...any) error {
		return protocol.Errorf(protocol.InvalidInput, "function "+s.Name+" is the built-in function "+name+", which "+format, args...)
	}
	if len(s.Inputs) != 1 || len(s.Outputs) != 1 {
		return nil, refuse("has one parameter and one output; %d and %d are declared", len(s.Inputs), len(s.Outputs))
	}
	u := use{input: s.Inputs[0].Type, output: s.Outputs[0].Type}
	if err := one.types(u); err != nil {
		return nil, refuse("%w", err)
	}
	if u.args, err = decode(ctx, s.Initialization, one.constants); err != nil {
		return nil, refuse("has other arguments: %w", err)
	}
	c := &caller{spec: s}
	// A declaration may lack arguments; each use must have all of them.
	if c.missing = u.args.missing(one.constants, u); c.missing != "" {
		if s.Binding != "" {
			return nil, refuse("needs the argument %s", c.missing)
		}
		return c, nil
	}
	if c.step, err = one.open(u); err != nil {
		return nil, refuse("%w", err)
	}
	return c, nil
}

// find returns the function that a runtime names.
func find(s udf.Spec) (string, builtin, error) {
	var runtime struct {
		Kind     string `json:"kind"`
		Function string `json:"function"`
	}
	decoder := json.NewDecoder(bytes.NewReader(s.Runtime))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&runtime); err != nil {
		return "", builtin{}, protocol.Errorf(protocol.InvalidInput, "function %s: a runtime of kind builtin has a kind and a function, and no more: %w", s.Name, err)
	}
	if s.Kind != ArtifactKind || len(s.Artifact) > 0 || s.Entrypoint != "" || len(s.Environment) > 0 {
		return "", builtin{}, protocol.Errorf(protocol.InvalidInput, "function %s: a built-in function has an artifact of kind %s without content, no entrypoint and no secrets", s.Name, ArtifactKind)
	}
	one, ok := builtins[runtime.Function]
	if !ok {
		return "", builtin{}, protocol.Errorf(protocol.InvalidInput, "function %s: %.80q is no built-in function; list the functions of the namespace __builtin", s.Name, runtime.Function)
	}
	return runtime.Function, one, nil
}

// A caller is an open function.
type caller struct {
	spec    udf.Spec
	missing string // an argument
	step    step
}

// Close does nothing: a built-in function has no resources.
func (c *caller) Close() error { return nil }

// Call computes the rows one at a time.
func (c *caller) Call(ctx context.Context, in arrow.RecordBatch) (udf.Result, error) {
	if c.missing != "" && in.NumRows() > 0 {
		return udf.Result{}, protocol.Errorf(protocol.InvalidInput, "function %s needs the argument %s", c.spec.Name, c.missing)
	}
	ctx, room, err := memory.Within(ctx)
	if err != nil {
		return udf.Result{}, err
	}
	defer room.Close()
	out := array.NewBuilder(arrowmemory.DefaultAllocator, c.spec.Outputs[0].Type)
	defer out.Release()
	var result udf.Result
	for row := range int(in.NumRows()) {
		if err := ctx.Err(); err != nil {
			return udf.Result{}, err
		}
		err := c.step(ctx, in.Column(0), row, out)
		var bad *rowError
		// A row error fails the row; all other errors fail the call.
		switch {
		case errors.As(err, &bad):
			out.AppendNull()
			result.Failed = append(result.Failed, udf.Failure{Row: row, Type: bad.kind, Message: bad.message})
		case err != nil:
			return udf.Result{}, err
		}
	}
	field := arrow.Field{Name: c.spec.Outputs[0].Name, Type: c.spec.Outputs[0].Type, Nullable: true}
	result.Outputs = array.NewRecordBatch(arrow.NewSchema([]arrow.Field{field}, nil), []arrow.Array{out.NewArray()}, in.NumRows())
	return result, nil
}
