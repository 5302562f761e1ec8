// Package client is the Go client of Tiltyard. It calls each operation of package protocol over
// HTTP, on any server of the Lance Namespace protocol.
//
// A [Client] has a method for each operation that takes a request of package protocol and returns
// its response. Rows are Arrow record batches: uploads read them from a [Source] and answers return
// them as [Rows], both batch by batch, so that a table may be larger than the memory. Iterators
// such as [Client.Tables] visit all pages of a list, and [Client.Wait] waits for a job.
//
// # Errors
//
// If the server refuses a request, the error is an [Error] that wraps a *[protocol.Error], so
// programs can test its code:
//
//	if errors.Is(err, protocol.TableNotFound) { … }
//
// # Repeated requests
//
// The client repeats requests, with growing pauses. It repeats a read if there was no answer, or a
// temporary error. It repeats a write if the server cannot have begun it: no connection was made,
// or the answer is that nothing has changed. A write whose answer was lost may have been performed.
// The client sends each write with an Idempotency-Key, and repeats such a write under the same key
// if the server declares that it honours the key. Otherwise it returns the error. No server stores
// the answer to CreateSecret, so the client does not repeat that.
package client

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"tiltyard/shared/protocol"
)

//go:generate go run tiltyard/local/tools/clientgen

// A Client calls the operations of one server. It is safe for concurrent use.
type Client struct {
	base  *url.URL
	token string
	http  *http.Client
	once  bool

	mu    sync.Mutex
	keyed *bool // whether the server honours idempotency keys; nil before it is known
}

// Options configure a client. The zero value of each field is a sensible default.
type Options struct {
	// Token is sent as bearer token with each request. It may be an API key. Empty sends none.
	Token string
	// Transport makes the requests. Nil means a transport with the proxies of the environment.
	Transport http.RoundTripper
	// Once sends each request once only, because who waits for the answer will decide about a repetition.
	Once bool
}

// New returns a client of the server at a URL such as http://127.0.0.1:10024. The URL may have a
// path, which precedes /v1. New sends no request.
func New(base string, opts Options) (*Client, error) {
	parsed, err := url.Parse(base)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the URL of the server is malformed: %w", err)
	case parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "":
		return nil, fmt.Errorf("the URL of the server is %q; it must be like https://host or http://host:port", parsed.Redacted())
	case parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "":
		return nil, fmt.Errorf("the URL of the server, %q, must have no user, query or fragment", parsed.Redacted())
	case strings.ContainsAny(opts.Token, " \t\r\n,"):
		return nil, fmt.Errorf("the token contains a space, a comma or a line break; give it as it was issued")
	}
	transport := opts.Transport
	if transport == nil {
		transport = newTransport()
	}
	return &Client{base: parsed, token: opts.Token, once: opts.Once, http: &http.Client{
		Transport: transport,
		// Redirects must not carry the token to another server; call.follow handles them.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// newTransport returns a transport that detects an unreachable server within seconds.
func newTransport() http.RoundTripper {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
	}
}

// ID returns the id of a request's object: its namespaces and then its name. Without names it is
// the root namespace.
//
//	&tableapi.DescribeRequest{Common: client.ID("sales", "orders")}
func ID(names ...string) protocol.Common { return protocol.Common{ID: names} }
