// Package operations joins the rows of all groups to the one table of operations, and answers questions about all
// of them: which operation has a name, which routes a gateway needs, and which fields of requests have no effect.
// Begin with operations.go.
package operations
