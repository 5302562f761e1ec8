package httpapi

import (
	"net/http"
	"strings"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
)

// errNoCredentials is the answer to a request without credentials.
var errNoCredentials = &protocol.Error{
	Code:    protocol.Unauthenticated,
	Message: "no credentials: send Authorization: Bearer <token>, or x-api-key",
}

// signIn authenticates the sender of the request and checks its rights as far as headers and path
// allow. It runs before the body is read, so that unauthenticated clients occupy no memory. The
// identity object that some bodies contain is not a credential.
func (c *call) signIn() error {
	token, ok, err := headerToken(c.r.Header)
	switch {
	case err != nil:
		return err
	case !ok:
		return errNoCredentials
	}
	return c.authenticate(token)
}

// authenticate verifies a token and puts its principal into the context. Without policies it checks
// the scopes of the token; otherwise it prepares the evaluation of the policies.
func (c *call) authenticate(token string) error {
	if c.Verifier == nil {
		return &protocol.Error{Code: protocol.Unauthenticated, Message: "this server accepts no credentials"}
	}
	principal, err := c.Verifier.Verify(c.ctx(), token)
	if err != nil {
		return err
	}
	c.principal = principal
	c.r = c.r.WithContext(auth.WithToken(auth.NewContext(c.ctx(), principal), token))
	if c.Policies == nil {
		return auth.Authorize(principal, c.match.operation)
	}
	if c.access, err = c.Policies.Access(c.ctx(), principal); err != nil {
		return err
	}
	c.r = c.r.WithContext(auth.WithAccess(c.ctx(), c.access))
	return nil
}

// admit checks the policies for the object in the path.
func (c *call) admit() error {
	if c.access == nil {
		return nil
	}
	return c.access.Admit(c.match.operation, c.id)
}

// admitTargets checks the policies for the other objects of a request.
func (c *call) admitTargets(req protocol.Request) error {
	several, ok := req.(interface{ Targets() []protocol.Target })
	if c.access == nil || !ok {
		return nil
	}
	return c.access.AdmitTargets(several.Targets())
}

// headerToken returns the token from Authorization, or else from x-api-key. The verifiers do not
// distinguish them: an API key may be sent as a bearer token. A gateway may have joined repeated
// headers with commas, which tokens do not contain.
func headerToken(header http.Header) (token string, ok bool, err error) {
	for _, name := range []string{"Authorization", "X-Api-Key"} {
		values := header.Values(name)
		if len(values) == 0 {
			continue
		}
		if len(values) > 1 || strings.Contains(values[0], ",") {
			return "", false, protocol.Errorf(protocol.InvalidInput, "header %s is given more than once; send it once", name)
		}
		token = strings.TrimSpace(values[0])
		if name == "Authorization" {
			scheme, rest, _ := strings.Cut(token, " ")
			if !strings.EqualFold(scheme, "Bearer") {
				return "", false, &protocol.Error{Code: protocol.Unauthenticated, Message: "Authorization must be: Bearer <token>"}
			}
			token = strings.TrimSpace(rest)
		}
		if token == "" {
			return "", false, &protocol.Error{Code: protocol.Unauthenticated, Message: "header " + name + " holds no token"}
		}
		return token, true, nil
	}
	return "", false, nil
}
