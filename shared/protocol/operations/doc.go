// Package operations joins the rows of all groups to the one table of operations, with functions over it: they find an
// operation by name, list the routes of a gateway, and list the request fields without effect. Begin with operations.go.
package operations
