package auth

import (
	"context"
	"slices"
	"strings"

	"tiltyard/shared/protocol"
)

// These are the scopes of tokens. Write includes read.
const (
	ScopeRead  = "tiltyard:read"
	ScopeWrite = "tiltyard:write"
)

// Principal is who sent a request. Records keep it, in JSON, for [Rights].
type Principal struct {
	Subject string   `json:"subject"`          // unique within Issuer; never a secret
	Issuer  string   `json:"issuer,omitempty"` // of the token; empty for keys of our own
	Scopes  []string `json:"scopes,omitempty"` // granted by the token
	Groups  []string `json:"groups,omitempty"` // of the subject, by the issuer
	Roles   []string `json:"roles,omitempty"`  // of the subject, by the issuer
	Claim   string   `json:"-"`                // the tenant that the token names; see Tenant
}

// TokenSubject is the subject of the single token, and keySubject the prefix of the subjects of API
// keys.
const TokenSubject, keySubject = "token", "key:"

// String names the principal for logs.
func (p *Principal) String() string {
	if p.Issuer == "" {
		return p.Subject
	}
	return p.Issuer + "#" + p.Subject
}

// Name returns a short name of the principal for people of the same deployment: its subject, with the issuer if the
// subject looks like one of our own credentials.
func (p *Principal) Name() string {
	if p.Subject == TokenSubject || strings.HasPrefix(p.Subject, keySubject) {
		return p.String()
	}
	return p.Subject
}

// Tenant returns the name of the party that the principal belongs to, by which usage is metered and quotas are set: the
// claim tenant of its token, the name of its API key up to the first slash, or else the principal itself. Rights do not
// depend on it.
func (p *Principal) Tenant() string {
	if p.Claim != "" {
		return p.Claim
	}
	if key, ok := strings.CutPrefix(p.Subject, keySubject); ok && p.Issuer == "" {
		name, _, _ := strings.Cut(key, "/")
		return name
	}
	return p.String()
}

// A Verifier determines the principal of a token. It is safe for concurrent use.
type Verifier interface {
	// Verify returns the principal of the token. The error is a *protocol.Error: Unauthenticated if the
	// token is unknown or no longer valid, ServiceUnavailable if that cannot be checked now. It never
	// contains the token.
	Verify(ctx context.Context, token string) (*Principal, error)
}

// Authorize reports whether the principal may run an operation; if not, the error is
// PermissionDenied and names the missing scope.
func Authorize(p *Principal, op protocol.Operation) error {
	if slices.Contains(p.Scopes, ScopeWrite) {
		return nil
	}
	needed := ScopeWrite
	if op.Access == protocol.Read {
		needed = ScopeRead
	}
	if slices.Contains(p.Scopes, needed) {
		return nil
	}
	return &protocol.Error{
		Code:    protocol.PermissionDenied,
		Message: op.Name + " needs the scope " + needed,
	}
}

// maxTokenBytes bounds the tokens that a verifier parses. Tokens with many groups are large;
// servers allow larger headers.
const maxTokenBytes = 8 << 10

// unauthenticated returns the error for a token that is refused.
func unauthenticated(message string, cause error) error {
	return &protocol.Error{Code: protocol.Unauthenticated, Message: message, Err: cause}
}

type contextKey struct{}

// NewContext returns a context that carries the principal.
func NewContext(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

type tokenKey struct{}

// WithToken returns a context that carries the token of the sender, with which the service calls itself on behalf of the
// sender.
func WithToken(ctx context.Context, token string) context.Context {
	return context.WithValue(ctx, tokenKey{}, token)
}

// TokenOf returns the token of the sender of a request, or "".
func TokenOf(ctx context.Context) string {
	token, _ := ctx.Value(tokenKey{}).(string)
	return token
}

// FromContext returns the principal of a request, or nil if the request was not authenticated.
func FromContext(ctx context.Context) *Principal {
	p, _ := ctx.Value(contextKey{}).(*Principal)
	return p
}
