// Package udf defines the interface between registered functions and the programs that run them. A
// [Runtime] opens a function for one use, and the returned [Caller] computes batches of rows.
//
// The package contains no runtime. Packages builtin, executor, expression and wasm each implement one for
// their kinds of functions.
package udf

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
)

// A Spec contains all inputs of a runtime for a function and its use. A function has no other
// access to the service.
type Spec struct {
	Name       string
	Version    string
	Kind       string // of the artifact: sql_expression, wasm_module, python_callable, python_bundle or envelope
	Entrypoint string // within the artifact; "" where its kind needs none
	Artifact   []byte // the decoded content, which the runtime does not change
	Digest     string // of the artifact: sha256: and lower-case hexadecimal digits
	Runtime    []byte // the declared runtime: a JSON object with its kind and its parameters

	Inputs  []arrow.Field // parameters, in their order
	Outputs []arrow.Field // one column, or the fields of a struct that becomes several columns

	Initialization []byte            // constructor arguments of a stateful function: an Arrow IPC stream of one row, or nil
	Environment    map[string]string // declared variables, including values of secrets; never logged

	Shape Shape // of results

	Binding string // identifies the use, such as the binding of a column; "" without one
	Job     string // the job on whose behalf the function is called
}

// A Shape is the relation between the rows of a result and the rows of the call.
type Shape int

// The shapes. Only functions of kind [Envelope] have a shape other than EachRow.
const (
	EachRow  Shape = iota // one row per row of the call
	ManyRows              // any number of rows for each row of the call
	AllRows               // any number of rows for all rows of the call together
)

// A Runtime opens functions of one kind. It is safe for concurrent use.
type Runtime interface {
	// Open prepares a function for calls. A function that this runtime cannot run is a protocol error with
	// the reason. The caller of Open closes the Caller.
	Open(ctx context.Context, s Spec) (Caller, error)
}

// Runtimes are the runtimes of a program, by the kind that declarations name: sql, wasm, python.
type Runtimes map[string]Runtime

// A Check returns an error for a runtime, as a function declares it, that a deployment does not run functions
// on: a protocol error of the code Unsupported that names the setting. It sends no request.
type Check func(runtime []byte) error

// ErrNone is wrapped by the error of a [Check] if the deployment runs no functions of a kind at all. Such a
// function may still be registered, because the deployment may run it later.
var ErrNone = errors.New("no functions of this kind run here")

// A Caller is an open function. It is used by one goroutine at a time.
type Caller interface {
	// Call computes the outputs for the rows of in, whose columns are the parameters in their order: one
	// row for each, unless the function has another shape. An error concerns the batch as a whole; failures
	// of single rows are in the result.
	Call(ctx context.Context, in arrow.RecordBatch) (Result, error)

	// Close releases the resources of Open.
	Close() error
}

// A Result holds the outputs of a batch of rows.
type Result struct {
	Outputs arrow.RecordBatch // a column for each output; the receiver releases it
	// Parents has, with the shape ManyRows, the row of the call for each row of Outputs, in ascending
	// order.
	Parents []int32
	// Failed lists the rows of the call for which the function failed, in ascending order. With EachRow
	// their outputs are NULL, with ManyRows they have none. With AllRows it has at most one failure, of row
	// 0, which stands for the whole call; there are then no outputs.
	Failed []Failure
}

// A Failure is the reason why a row has no outputs.
type Failure struct {
	Row     int    // of the batch, from 0
	Type    string // such as ValueError
	Message string // at most 4 KiB
}
