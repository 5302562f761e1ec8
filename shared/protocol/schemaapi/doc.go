// Package schemaapi holds the wire types of the operations on columns: add, alter, drop and backfill them, and
// change metadata. It also has the uses of functions by columns, as the metadata of a schema holds them
// (functionbinding.go). Begin with columns.go.
package schemaapi
