package auth

import (
	"context"
	"strings"

	"tiltyard/shared/protocol"
)

// Chain tries several verifiers in order. An empty chain refuses every token.
type Chain []Verifier

// Verify returns the first principal that a verifier finds. If none does, it returns a
// ServiceUnavailable before any refusal, because the client may try again. Among refusals it
// prefers that of the JWT verifier for tokens that look like a JWT, because it is the most
// specific.
func (c Chain) Verify(ctx context.Context, token string) (*Principal, error) {
	refusal := unauthenticated("the token is not known", nil)
	var failure error
	for _, v := range c {
		principal, err := v.Verify(ctx, token)
		if err == nil {
			return principal, nil
		}
		if protocol.CodeOf(err) != protocol.Unauthenticated {
			failure = err
		} else if _, isJWT := v.(*JWT); isJWT && strings.Count(token, ".") == 2 {
			refusal = err
		}
	}
	if failure != nil {
		return nil, failure
	}
	return nil, refusal
}

var _ Verifier = Chain(nil)
