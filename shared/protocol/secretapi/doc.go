// Package secretapi holds the wire types of secrets. No answer has a value, and no form of a request that is
// logged shows one. Begin with secret.go.
package secretapi
