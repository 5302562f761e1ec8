// Package httpapi puts operations on HTTP. A service says which functions serve which
// operations, and [Handler] does the rest for all of them alike:
//
//	match the path → authenticate → authorise → decode → validate → call → encode
//
// Paths are matched as they came, undecoded, because ids may hold an encoded slash and
// because a slash at the end of a table path is what tells LanceDB clients from others;
// net/http's mux would redirect or decode them. Nothing of a service is called before
// the request has been found well-formed and its sender allowed to make it.
//
// [JSON], [Upload] and [Arrow] are the three shapes of operations: JSON to JSON, Arrow
// stream to JSON, JSON to Arrow file. problem.go is the only place that knows which
// status an error becomes.
package httpapi
