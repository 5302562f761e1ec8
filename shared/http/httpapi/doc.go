// Package httpapi serves operations over HTTP. A service lists the functions that serve its
// operations, and [Handler] does everything else in the same way for all of them:
//
//	match the path → authenticate → authorise → decode → validate → call → encode
//
// The router matches paths as they arrived, undecoded. Ids may contain an encoded slash, and a
// slash at the end of a table path marks the LanceDB dialect; the mux of net/http would redirect or
// decode such paths. The handler calls a service only after it has found that the request is
// well-formed and its sender has the right to make it.
//
// [JSON], [Upload] and [Arrow] are the three shapes of operations: JSON to JSON, Arrow stream to
// JSON, JSON to Arrow file. Only problem.go maps errors to HTTP statuses.
//
// A mutation that a client sends again is executed once (once.go, stream.go). The ledger in this
// package is always the [idempotency.Ledger]; an attempt is one request, as defined by
// [idempotency.Attempt].
package httpapi
