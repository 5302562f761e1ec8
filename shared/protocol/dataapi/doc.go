// Package dataapi contains the wire types of the operations that write rows: create a table from an Arrow stream, insert,
// merge, update, delete, and multipart writes. The operations on a write-ahead log, which no table has, are in lsm.go.
// Begin with data.go.
package dataapi
