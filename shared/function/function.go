// Package function says what a registered function is to the programs that run functions. A [Runtime]
// opens a function for one use, and the [Caller] that it returns computes batches of rows.
//
// The package holds no runtime. Packages builtin, executor, expression and wasm are the runtimes, each for functions of its kind.
package function

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
)

// A Spec is all that a runtime learns of a function and of the use it is opened for. A function sees
// nothing else of the service.
type Spec struct {
	Name       string
	Version    string
	Kind       string // of the artifact: sql_expression, wasm_module, python_callable, python_bundle or envelope
	Entrypoint string // within the artifact; "" where its kind needs none
	Artifact   []byte // the decoded content, which the runtime does not change
	Digest     string // of the artifact: sha256: and lower-case hexadecimal digits
	Runtime    []byte // the runtime as it was declared: a JSON object with its kind and what that kind needs

	Inputs  []arrow.Field // parameters, in their order
	Outputs []arrow.Field // one column, or the fields of a struct that becomes several columns

	Initialization []byte            // arguments of a function that keeps state: an Arrow IPC stream of one row, or nil
	Environment    map[string]string // declared variables, with values of secrets among them; never logged

	Shape Shape // of results

	Binding string // names the use, such as a binding of a column; "" outside of one
	Job     string // the job that the function is called for
}

// A Shape is how the rows of a result belong to those of the call.
type Shape int

// These are the shapes. Only functions of the kind [Envelope] have others than EachRow.
const (
	EachRow  Shape = iota // one row for each row of the call
	ManyRows              // any number of rows for each row of the call
	AllRows               // any number of rows for all rows of the call together
)

// A Runtime opens functions of one kind. Its methods may be called at once by several goroutines.
type Runtime interface {
	// Open makes a function ready to be called. The error is a protocol error for a function that this
	// runtime cannot run, and says why. The caller of Open closes the Caller.
	Open(ctx context.Context, s Spec) (Caller, error)
}

// Runtimes are the runtimes of a program, by the kind that declarations name: sql, wasm, python.
type Runtimes map[string]Runtime

// A Check returns an error for a runtime, as a function declares it, that a deployment does not run functions
// on: a protocol error of the code Unsupported that names the setting. It sends no request.
type Check func(runtime []byte) error

// ErrNone is wrapped by the error of a [Check] where the deployment runs no functions of the kind at all. Such
// a function can be kept for the day on which it does.
var ErrNone = errors.New("no functions of this kind run here")

// A Caller is a function that is ready to be called, by one goroutine at a time.
type Caller interface {
	// Call computes outputs for the rows of in, whose columns are the parameters in their order: one row
	// for each, unless the function has another shape. An error concerns the batch as a whole; rows that
	// failed by themselves are in the result.
	Call(ctx context.Context, in arrow.RecordBatch) (Result, error)

	// Close ends what Open began.
	Close() error
}

// A Result holds the outputs of a batch of rows.
type Result struct {
	Outputs arrow.RecordBatch // a column for each output; the receiver releases it
	// Parents are, with the shape ManyRows, the row of the call that each row of Outputs belongs to, from 0
	// and in ascending order.
	Parents []int32
	// Failed are rows of the call that the function failed for, in ascending order: with EachRow their
	// outputs are null, with ManyRows they have none. With AllRows it is one failure of row 0, which stands
	// for the call; there are then no outputs.
	Failed []Failure
}

// A Failure is the reason why a row has no outputs.
type Failure struct {
	Row     int    // of the batch, from 0
	Type    string // such as ValueError
	Message string // at most 4 KiB
}
