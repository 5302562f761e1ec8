// Package namespaceapi contains the wire types of namespaces: create, list, describe, drop and restore them, and list the
// dropped objects that can be restored. Begin with namespace.go.
package namespaceapi
