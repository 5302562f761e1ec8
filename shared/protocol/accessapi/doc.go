// Package accessapi contains the wire types of ExplainAccess, which reports the operations that a subject may perform on
// an object, and the policies that decide this. Begin with explain.go.
package accessapi
