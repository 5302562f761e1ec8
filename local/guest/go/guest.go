// Package guest supports functions in Go that Tiltyard runs as WebAssembly modules. It imports only
// the standard library: copy the folder into your own module.
//
//	package main
//
//	func init() {
//		guest.Scalar(func(in guest.Batch, out *guest.Strings) {
//			for i := range in.Rows {
//				if in.Columns[0].IsNull(i) {
//					out.Null()
//					continue
//				}
//				out.Append(strings.ToUpper(in.Columns[0].String(i)))
//			}
//		})
//	}
//
//	func main() {}
//
// Build it with
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o upper.wasm
//
// A function receives batches of rows; registration calls it with an empty one. For each row it
// calls Append with a value, Null, or Fail with the reason why the row has no value. If the
// function panics, the service computes the batch again in smaller pieces, until it has found the
// rows that cause the panic.
package guest

import "encoding/base64"

// A Batch contains the parameters of some rows.
type Batch struct {
	Rows    int
	Columns []*Column // in the order of the parameters
}

// An Opening describes the use for which a function is opened.
type Opening struct {
	Function       string
	Version        string
	Binding        string // of a column; "" for other uses
	Job            string
	Initialization string // encoded; see Arguments
}

// Arguments returns the constant arguments of a function: one row, or none if there are none.
func (o Opening) Arguments() (Batch, error) {
	stream, err := base64.StdEncoding.DecodeString(o.Initialization)
	if err != nil || len(stream) == 0 {
		return Batch{}, err
	}
	return readStream(stream), nil
}

var (
	opened   func(Opening) error
	function func(in Batch) []Output
)

// OnOpen sets a function that is called before the first batch.
func OnOpen(f func(o Opening) error) { opened = f }

// Scalar sets a function with one output. f appends a value to out for each row. out is one of
// [*Strings], [*Numbers], [*Bools], [*Vectors] and [*StringLists].
func Scalar[B any, P interface {
	*B
	Output
}](f func(in Batch, out P)) {
	Columns(func(in Batch) []Output {
		var out P = new(B)
		f(in, out)
		return []Output{out}
	})
}

// Columns sets a function with several outputs, which it returns in order.
func Columns(f func(in Batch) []Output) { function = f }

// open handles the service's call of open.
func open(argument []byte) (content []byte, failed bool) {
	return report(func() []byte {
		texts := textsOf(string(argument))
		o := Opening{Function: texts["function"], Version: texts["version"], Binding: texts["binding"], Job: texts["job"], Initialization: texts["initialization"]}
		if function == nil {
			panic("no function was set; call guest.Scalar or guest.Columns in init")
		}
		if opened != nil {
			if err := opened(o); err != nil {
				panic(refusal{err})
			}
		}
		return nil
	})
}

// call handles the service's call with a batch.
func call(stream []byte) (content []byte, failed bool) {
	return report(func() []byte {
		in := readStream(stream)
		return writeStream(in.Rows, function(in))
	})
}

// report returns the result of do, or a description of its panic.
func report(do func() []byte) (content []byte, failed bool) {
	defer func() {
		switch reason := recover().(type) {
		case nil:
			return
		case error:
			content = failure(typeOf(reason, "Panic"), reason.Error())
		case string:
			content = failure("Panic", reason)
		default:
			content = failure("Panic", "with a value that is no text")
		}
		failed = true
	}()
	return do(), false
}

// typeOf returns the type of an error: the result of its method ErrorType, or the given default.
func typeOf(err error, otherwise string) string {
	if named, ok := err.(interface{ ErrorType() string }); ok {
		return named.ErrorType()
	}
	return otherwise
}

// A refusal is an error that a function returned, as opposed to a panic.
type refusal struct{ error }

func (r refusal) ErrorType() string { return typeOf(r.error, "Error") }
