// Package auth turns the token of a request into a [Principal] and says what a principal
// may do.
//
// A [Verifier] knows one kind of token: [JWT] those signed by an authorization server,
// [APIKeys] those whose hashes are on file, [Static] the one of a local server. [Chain]
// asks several. A verifier is handed whatever text the client sent as its token, so each
// bounds the length before it looks inside, and each compares secrets in constant time.
//
// The package knows no HTTP: httpapi takes the token out of the headers, puts the
// principal into the context, and turns errors into statuses.
package auth
