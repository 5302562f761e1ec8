// Package schemaapi contains the wire types of the operations on columns: add, alter, drop and backfill them, and change
// metadata. It also defines how the metadata of a schema stores the uses of functions by columns (functionbinding.go).
// Begin with columns.go.
package schemaapi
