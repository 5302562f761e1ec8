package auth

import (
	"context"
	"strings"

	"tiltyard/shared/protocol"
)

// Chain asks several verifiers for who they know. Without any it refuses everybody.
type Chain []Verifier

// Verify returns the first principal that a verifier knows. When none does, the error of
// a verifier that could not find out comes first, because the client may try again. Of
// refusals the JWT verifier's counts for tokens that look like a JWT: it says most.
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
