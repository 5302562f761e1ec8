// Package executor runs functions in programs outside of the service: executors, which the operator
// configures and no request can name an address of. A function of Python runs on an executor that
// accepts its version of Python and its packages; a function of the kind executor runs on the one that
// it names.
//
// A [Set] is the runtime of all executors. Each use of a function is a caller (caller.go): it cuts rows
// into batches, of a size that it adapts to how long calls take, and halves a batch that fails, down to
// the rows that cannot be computed. It repeats calls that fail for reasons of the moment.
//
// A [Carrier] brings one call to an executor and its reply back. HTTPS (https.go) and commands (command.go)
// are here; package lambdaexec has functions of AWS, so that only the programs that run functions
// contain their client. Package executortest is the contract of carriers.
//
// # Calls
//
// A call is a JSON object, of type [Call], and an Arrow IPC stream of one batch, whose columns are the
// parameters in their order. In a request of HTTP and on the standard input of a command they are framed,
// with numbers in little-endian order:
//
//	 0  [4]  "TYC1"
//	 4  u32  length of the JSON object
//	 8  u64  length of the stream
//	16       the JSON object
//	         the stream
//
// When there are traces, the JSON object has the span of the call as traceparent, in the form of W3C Trace
// Context, and a request of HTTP has the same in the header of that name.
//
// A reply is an Arrow stream with the outputs, in their order, and as many rows as came. A last column
// __error, a nullable string, may mark rows that failed: their outputs are null, and the string is the
// kind of the error, a colon, a space and its message. Or a reply is a JSON object of type [Fault] for the
// batch as a whole. Over HTTP the status tells them apart: 200 is a stream. A command writes the line
// "tiltyard 1" when it is ready, and frames of replies:
//
//	 0  [4]  "TYR1"
//	 4  u32  0 for a stream, 1 for a fault
//	 8  u64  length
//	16       the stream or the JSON object
//
// Replies are trusted as little as uploads: package arrowipc reads them, within limits, and what does not
// fit the call is a fault.
package executor
