// Package protocol holds the words of the wire that all groups of operations share: what a row of the
// table of operations has, the error codes, and how names, enumerations and schemas are spelled in JSON.
// Begin with operations.go.
//
// The requests and answers of a group, and the rows of its operations, are in the package of the group: those of
// shared/service/query in queryapi. Package operations joins all rows.
//
// Two families of clients share the paths. Lance Namespace clients speak the public
// specification; LanceDB clients speak an older cousin of it and put a slash at the end
// of table paths. Where one word has two spellings the [Dialect] of the request chooses
// for the answer, and requests are understood in both.
//
// The packages know words and no HTTP: which status a [Code] becomes, and where a field
// was taken from, is the business of httpapi. A field tagged json is read from the JSON
// body, a field tagged query from the query string, which wins where both are present,
// and one tagged path from the path parameter of that name. Optional fields are absent
// when their pointer, slice or map is nil or their string is empty; a JSON null is the
// same as absence. A request with a Validate method has been validated before a service
// sees it.
package protocol
