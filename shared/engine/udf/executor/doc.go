// Package executor runs functions in programs outside of the service, called executors. The operator
// configures their addresses; requests cannot. A Python function runs on an executor that accepts its
// Python version and its packages; a function of kind executor names its executor.
//
// A [Set] is the runtime of all executors. Each use of a function is a caller (caller.go): it cuts rows
// into batches, adapts their size to the duration of calls, and halves a failing batch until single rows
// fail. It retries calls that fail for transient reasons.
//
// A [Carrier] transports calls and replies. This package has carriers for HTTPS (https.go) and commands
// (command.go). Package lambdaexec has the carrier for AWS Lambda, so that only the programs that run
// functions contain the AWS client. Package executortest tests the contract of carriers.
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
// If tracing is enabled, the JSON object has the span of the call as traceparent, in the form of W3C Trace
// Context. An HTTP request also has it in the header of that name.
//
// A reply is either an Arrow stream or a [Fault]. The stream has the outputs in their order, with one row
// per row of the call. An optional last column __error, a nullable string, marks failed rows: their outputs
// are NULL, and the string is the kind of the error, a colon, a space and its message. A Fault is a JSON
// object for a failure of the whole batch. Over HTTP the status 200 marks a stream. A command writes the
// line "tiltyard 1" when it is ready, and then frames of replies:
//
//	 0  [4]  "TYR1"
//	 4  u32  0 for a stream, 1 for a fault
//	 8  u64  length
//	16       the stream or the JSON object
//
// Replies are untrusted, like uploads: package arrowipc reads them within limits, and a reply that does not
// fit the call is a fault.
package executor
