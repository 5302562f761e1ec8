// Package indexapi contains the wire types of indices: the parameters of each kind, and the operations that create, list,
// describe, prewarm and drop them. Begin with index.go.
package indexapi
