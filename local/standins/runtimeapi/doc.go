// Package runtimeapi is a stand-in for the Lambda runtime. It starts programs that were built as
// functions and passes them events over the runtime API, as Lambda does:
//
//	GET  /2018-06-01/runtime/invocation/next           waits for an event
//	POST /2018-06-01/runtime/invocation/{id}/response  answers it
//	POST /2018-06-01/runtime/invocation/{id}/error     reports that it failed
//	POST /2018-06-01/runtime/init/error                reports that the program cannot start
//
// A response may be streamed: it is passed on as it arrives, and a trailer marks a response that
// the program could not complete.
//
// An instance serves one event at a time. A function starts another instance if all are busy, and
// keeps its instances, so that the second event finds a warm one. An instance that does not respond
// in time, or that ends while it should respond, is killed; the next event starts a new one. Paths
// are those of AWS Lambda's runtime API, version 2018-06-01.
package runtimeapi
