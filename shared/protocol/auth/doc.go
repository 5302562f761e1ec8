// Package auth verifies the token of a request, which identifies a [Principal], and decides which
// operations a principal may perform.
//
// Each [Verifier] checks one kind of token: [JWT] checks tokens signed by an authorization server,
// [APIKeys] tokens with a stored hash, and [Static] the token of a local server. [Chain] tries
// several. A verifier receives the unchecked text of the client, so each bounds its length before
// it parses it, and each compares secrets in constant time.
//
// go-jose checks signatures, and this package checks claims. The usual OpenID Connect verifier on
// top of go-jose cannot distinguish a bad token from an unreachable issuer, sends a request to the
// issuer for every unknown key id, and tolerates large clock differences.
//
// The package does not depend on HTTP: httpapi reads the token from the headers, puts the principal
// into the context, and converts errors to status codes.
package auth
