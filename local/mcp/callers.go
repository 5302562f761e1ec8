package mcp

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"tiltyard/shared/client"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/namespaceapi"
)

const (
	maxAccepted  = 1024            // tokens
	checkTimeout = 3 * time.Second // of a token, repetitions included; agents in Python give up after 5 seconds
	retryAfter   = "5"             // seconds
)

// Callers opens clients with the token of each request, so that a server of HTTP has no rights of
// its own. It checks a token with the Tiltyard server before the first request that has it, and
// remembers the accepted ones. All clients use the same connections. It is safe for concurrent use.
type Callers struct {
	url       string
	transport http.RoundTripper

	mu       sync.Mutex
	accepted map[tokenHash]struct{}
}

// A tokenHash is the SHA-256 of a token.
type tokenHash [sha256.Size]byte

// NewCallers returns callers of the Tiltyard server at a URL.
func NewCallers(url string) *Callers {
	return &Callers{url: url, transport: http.DefaultTransport.(*http.Transport).Clone(), accepted: map[tokenHash]struct{}{}}
}

var errNoToken = errors.New("a request needs a token of the Tiltyard server: Authorization: Bearer TOKEN")

// Open returns the client of a request. It is the function for [Options].
func (c *Callers) Open(header http.Header) (*client.Client, error) {
	token, ok := bearer(header)
	if !ok {
		return nil, errNoToken
	}
	opened, err := client.New(c.url, client.Options{Token: token, Transport: watched{c, hashOf(token)}})
	if err != nil {
		return nil, protocol.Errorf(protocol.Unauthenticated, "%w", err)
	}
	return opened, nil
}

// bearer returns the token of a request.
func bearer(header http.Header) (token string, ok bool) {
	scheme, token, _ := strings.Cut(header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

func hashOf(token string) tokenHash { return sha256.Sum256([]byte(token)) }

// check returns nil if the Tiltyard server accepts the token of a request. The error is errNoToken,
// protocol.Unauthenticated, or that of a server that cannot decide now.
func (c *Callers) check(ctx context.Context, header http.Header) error {
	opened, err := c.Open(header)
	if err != nil {
		return err
	}
	token, _ := bearer(header)
	hash := hashOf(token)
	if c.accepts(hash) {
		return nil
	}
	ctx, done := context.WithTimeout(ctx, checkTimeout)
	defer done()
	_, err = opened.ListNamespaces(ctx, &namespaceapi.ListRequest{Page: protocol.Page{Limit: new(int64(1))}})
	if err != nil && !isAuthenticated(err) {
		return err
	}
	c.accept(hash)
	return nil
}

// isAuthenticated reports whether a server refused a request for another reason than its token. A
// token that may not list namespaces is still a token.
func isAuthenticated(err error) bool {
	var refusal *protocol.Error
	if !errors.As(err, &refusal) {
		return false
	}
	switch refusal.Code {
	case protocol.Unauthenticated, protocol.ServiceUnavailable, protocol.Throttling, protocol.Internal:
		return false
	}
	return true
}

func (c *Callers) accepts(token tokenHash) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.accepted[token]
	return ok
}

func (c *Callers) accept(token tokenHash) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.accepted) >= maxAccepted {
		clear(c.accepted) // each is checked again once
	}
	c.accepted[token] = struct{}{}
}

func (c *Callers) forget(token tokenHash) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.accepted, token)
}

// refuse answers a request whose token was not accepted. A server that cannot be reached is no
// reason for a client to ask for another token.
func refuse(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, errNoToken):
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, err.Error(), http.StatusUnauthorized)
	case errors.Is(err, protocol.Unauthenticated):
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`) // RFC 6750, section 3.1
		http.Error(w, err.Error(), http.StatusUnauthorized)
	default:
		w.Header().Set("Retry-After", retryAfter)
		http.Error(w, fmt.Sprintf("the Tiltyard server cannot check the token now: %v", err), http.StatusServiceUnavailable)
	}
}

// watched sends the requests with one token. A token that the server refuses was revoked or has
// expired: the next request of the agent has it checked again, and gets 401.
type watched struct {
	callers *Callers
	token   tokenHash
}

// RoundTrip implements http.RoundTripper.
func (w watched) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := w.callers.transport.RoundTrip(request)
	if err == nil && answer.StatusCode == http.StatusUnauthorized {
		w.callers.forget(w.token)
	}
	return answer, err
}
