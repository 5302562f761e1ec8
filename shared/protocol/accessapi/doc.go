// Package accessapi holds the wire types of ExplainAccess, which answers what a subject may do with an object, and
// which policies decide that. Begin with explain.go.
package accessapi
