// Package functionapi holds the wire types of functions of users: the definition of a version with its code,
// signature and secrets, and the operations that create, describe, drop and list them. Columns that use functions
// are in schemaapi. Begin with function.go.
package functionapi
