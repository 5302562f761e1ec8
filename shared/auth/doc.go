// Package auth turns the token of a request into a [Principal] and says what a principal
// may do.
//
// A [Verifier] knows one kind of token: [JWT] those signed by an authorization server,
// [APIKeys] those whose hashes are on file, [Static] the one of a local server. [Chain]
// asks several. A verifier is handed whatever text the client sent as its token, so each
// bounds the length before it looks inside, and each compares secrets in constant time.
//
// Signatures are checked by go-jose, claims here: the usual OpenID Connect verifier on top
// of it cannot tell a bad token from an issuer that is out of reach, asks that issuer
// again for every unknown key id, and is generous with clocks.
//
// The package knows no HTTP: httpapi takes the token out of the headers, puts the
// principal into the context, and turns errors into statuses.
package auth
