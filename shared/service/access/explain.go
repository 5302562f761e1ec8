package access

import (
	"context"

	"tiltyard/shared/catalog/views"
	"tiltyard/shared/protocol/accessapi"
	"tiltyard/shared/protocol/auth"
)

// Explain returns the operations that a subject may perform on an object. Only administrators may
// query other subjects, and objects that are hidden from themselves; otherwise the answer would
// reveal that a policy names the object.
func (s *Service) Explain(ctx context.Context, req *accessapi.ExplainRequest) (*accessapi.ExplainResponse, error) {
	principal, administrator := auth.FromContext(ctx), auth.MayExplainOthers(ctx)
	if principal == nil {
		principal = &auth.Principal{}
	}
	if other := req.Other(); other != nil {
		if err := auth.CheckExplainOthers(ctx); err != nil {
			return nil, err
		}
		principal = &auth.Principal{Subject: other.Subject, Issuer: other.Issuer, Groups: other.Groups, Roles: other.Roles, Scopes: other.Scopes}
	}
	if !administrator {
		if err := s.seen(ctx, req); err != nil {
			return nil, err
		}
	}
	object := auth.Table(req.ObjectID)
	if req.OfNamespace() {
		object = auth.Namespace(req.ObjectID)
	}
	found := auth.Explain(ctx, principal, object)
	// Other callers learn the decisions, but not the policies behind them.
	if !administrator {
		for i := range found.Decisions {
			found.Decisions[i].Policies = nil
		}
	}
	return &accessapi.ExplainResponse{
		Subject: accessapi.Subject{
			Subject: principal.Subject, Issuer: principal.Issuer, Groups: principal.Groups, Roles: principal.Roles, Scopes: principal.Scopes,
		},
		ByPolicies: found.ByPolicies, Visible: found.Visible, Administrator: administrator, Operations: found.Decisions,
	}, nil
}

// seen returns an error unless the object exists and the caller may see it.
func (s *Service) seen(ctx context.Context, req *accessapi.ExplainRequest) error {
	if req.OfNamespace() {
		_, err := s.names.Namespaces.Get(ctx, req.ObjectID)
		return err
	}
	_, err := s.names.Table(ctx, req.ObjectID)
	if views.Plain(err) != nil {
		return nil
	}
	return err
}
