package auth

import (
	"context"
	"errors"

	"tiltyard/shared/protocol"
)

// Rights evaluate the current rights of a principal after its request has ended. A view is refreshed, and a column is
// filled, with the rights of the principal that defined it. Each run of a job checks them again, because they may have
// been revoked.
//
// Such a run has no token. The policies decide by the name, the groups, the roles and the scopes that the token of the
// request had; without policies the scopes decide. A principal loses all rights with its credentials: an API key removed
// from the file, the single token of a server that no longer accepts one, or tokens of an issuer that is no longer
// configured.
type Rights struct {
	Verifier Verifier  // of the credentials that principals have; nil: they last
	Policies *Policies // nil: scopes decide
}

// As returns a context in which [Permits], [DataAccess] and similar checks apply to a principal. The context must be used
// for these checks only. Nil is an unknown principal, which has all rights without policies, and none with them. The error
// is PermissionDenied for a principal whose credentials no longer exist.
func (r Rights) As(ctx context.Context, p *Principal) (context.Context, error) {
	switch {
	case p != nil:
		if err := r.accepts(ctx, p); err != nil {
			return nil, err
		}
	case r.Policies != nil:
		return nil, &protocol.Error{Code: protocol.PermissionDenied, Message: "it is not known whose rights were checked"}
	default:
		p = &Principal{Scopes: []string{ScopeRead, ScopeWrite}}
	}
	as := WithAccess(NewContext(ctx, p), nil)
	if r.Policies == nil {
		return as, nil
	}
	access, err := r.Policies.Access(ctx, p)
	return WithAccess(as, access), err
}

// accepts returns PermissionDenied if the verifier no longer accepts the principal.
func (r Rights) accepts(ctx context.Context, p *Principal) error {
	if r.Verifier == nil {
		return nil
	}
	accepted, err := accepts(ctx, r.Verifier, p)
	if err == nil && !accepted {
		err = &protocol.Error{Code: protocol.PermissionDenied, Message: "the credentials of " + p.Name() + " are no longer accepted"}
	}
	return err
}

// accepts reports whether a verifier still has credentials of a principal, or would accept tokens of its issuer. It is
// true for verifiers that cannot determine this.
func accepts(ctx context.Context, v Verifier, p *Principal) (bool, error) {
	if asked, ok := v.(interface {
		Accepts(ctx context.Context, p *Principal) (bool, error)
	}); ok {
		return asked.Accepts(ctx, p)
	}
	return true, nil
}

// Accepts reports whether a verifier accepts the principal. It returns an error only if no verifier
// does.
func (c Chain) Accepts(ctx context.Context, p *Principal) (bool, error) {
	var wrong []error
	for _, v := range c {
		accepted, err := accepts(ctx, v, p)
		if accepted && err == nil {
			return true, nil
		}
		wrong = append(wrong, err)
	}
	return false, errors.Join(wrong...)
}

// Accepts reports whether the principal is the holder of the token.
func (v *Static) Accepts(_ context.Context, p *Principal) (bool, error) {
	return p.Issuer == "" && p.Subject == v.subject, nil
}

// Accepts reports whether there is a key with the principal's name. The key may have been replaced.
func (v *APIKeys) Accepts(_ context.Context, p *Principal) (bool, error) {
	for _, key := range v.keys {
		if p.Issuer == "" && p.Subject == keySubject+key.name {
			return true, nil
		}
	}
	return false, nil
}

// Accepts checks the current keys.
func (v *FetchedAPIKeys) Accepts(ctx context.Context, p *Principal) (bool, error) {
	keys, err := v.current(ctx)
	if err != nil {
		return false, err
	}
	return keys.Accepts(ctx, p)
}

// Accepts reports whether the principal is of the issuer.
func (v *JWT) Accepts(_ context.Context, p *Principal) (bool, error) {
	return p.Issuer == v.config.Issuer, nil
}
