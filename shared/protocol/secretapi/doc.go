// Package secretapi contains the wire types of secrets. No answer contains a value, and the logged form of a request
// conceals it. Begin with secret.go.
package secretapi
