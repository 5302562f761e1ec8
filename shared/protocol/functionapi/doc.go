// Package functionapi contains the wire types of user functions: the definition of a version with its code, signature and
// secrets, and the operations that create, describe, drop and list them. Columns that use functions are in schemaapi.
// Begin with function.go.
package functionapi
