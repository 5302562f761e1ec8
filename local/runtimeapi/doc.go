// Package runtimeapi stands in for the Lambda runtime: it starts the programs that were
// built as functions and hands them events over the runtime API, as Lambda does:
//
//	GET  /2018-06-01/runtime/invocation/next           waits for an event
//	POST /2018-06-01/runtime/invocation/{id}/response  answers it
//	POST /2018-06-01/runtime/invocation/{id}/error     says that it failed
//	POST /2018-06-01/runtime/init/error                says that the program cannot start
//
// An answer may be streamed: it is handed on as it comes, and where the program cannot
// complete it a trailer says so.
//
// An instance serves one event at a time. A function starts another when all are busy,
// and keeps those it has: the second event finds a warm one. An instance that does not
// answer in time is killed, and so is one that ends while it should answer; the next
// event starts anew. Paths are those of AWS Lambda's runtime API, version 2018-06-01.
package runtimeapi
