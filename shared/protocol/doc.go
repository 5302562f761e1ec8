// Package protocol contains the parts of the wire protocol that all groups of operations share: the columns of the table
// of operations, the error codes, and the JSON forms of names, enumerations and schemas. Begin with operations.go.
//
// The requests and answers of a group, and the rows of its operations, are in the package of the group: for
// shared/service/query in queryapi. Package operations joins all rows.
//
// Two families of clients share the paths. Lance Namespace clients use the public specification. LanceDB clients use an
// older, similar protocol, with a slash at the end of table paths. If a word has two spellings, the [Dialect] of the
// request determines the spelling in the answer; requests may use both.
//
// The packages are independent of HTTP: httpapi converts a [Code] to a status, and reads the fields of a request from its
// parts. A field tagged json is read from the JSON body, a field tagged query from the query string, which takes
// precedence, and a field tagged path from the path parameter of that name. An optional field is absent if its pointer,
// slice or map is nil or its string is empty; a JSON null is the same as absence. A request with a Validate method is
// validated before a service receives it.
package protocol
