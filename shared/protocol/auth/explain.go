package auth

import (
	"cmp"
	"context"
	"slices"

	cedar "github.com/cedar-policy/cedar-go"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/accessapi"
	"tiltyard/shared/protocol/operations"
)

// explainOthers is the action of requesting the rights of other subjects. It is not an operation, is in neither
// Action::"read" nor Action::"write", and is checked on the root namespace.
const explainOthers = "ExplainOthers"

// An Explanation lists the operations that a principal may perform on an object.
type Explanation struct {
	ByPolicies bool // else scopes decide
	Visible    bool
	Decisions  []accessapi.Decision
}

// MayExplainOthers reports whether the sender of the request may request the rights of other
// principals.
func MayExplainOthers(ctx context.Context) bool {
	if a := limits(ctx); a != nil {
		return a.permits(explainOthers, Namespace(nil))
	}
	principal := FromContext(ctx)
	return principal == nil || slices.Contains(principal.Scopes, ScopeWrite)
}

// CheckExplainOthers is MayExplainOthers as an error, PermissionDenied.
func CheckExplainOthers(ctx context.Context) error {
	if !MayExplainOthers(ctx) {
		return &protocol.Error{
			Code: protocol.PermissionDenied, Message: "only an administrator may ask what others may do",
			Detail: `a policy makes an administrator, which permits Action::"` + explainOthers + `" on Namespace::"$"; without policies it is the scope ` + ScopeWrite,
		}
	}
	return nil
}

// Explain returns the present decision of policies or scopes for a principal on each operation on an object, in the order
// of the table of operations.
func Explain(ctx context.Context, principal *Principal, object Object) *Explanation {
	limited := limits(ctx)
	found := &Explanation{ByPolicies: limited != nil, Visible: true}
	about := &Access{user: principal.entity(), admitted: map[Object]bool{}}
	if limited != nil {
		about.policies = limited.policies
		found.Visible = about.sees(object)
	}
	seen := map[string]bool{}
	for _, op := range operations.All {
		name := op.Permission
		of, ok := ObjectOf(op, nil)
		if !ok || of.kind != object.kind || seen[name] {
			continue
		}
		seen[name] = true
		decision := accessapi.Decision{Operation: name, Access: op.Access}
		if limited == nil {
			decision.Allowed = Authorize(principal, op) == nil
		} else {
			decision.Allowed, decision.Policies = about.explain(name, object)
		}
		found.Decisions = append(found.Decisions, decision)
	}
	return found
}

// explain decides like permits, and also returns the deciding policies, in the order of their text.
func (a *Access) explain(action string, object Object) (allowed bool, by []accessapi.DecidingPolicy) {
	decision, why := cedar.Authorize(a.policies, entities{a}, a.request(action, object))
	for _, reason := range why.Reasons {
		policy := a.policies.Get(reason.PolicyID)
		effect := "permit"
		if policy.Effect() == cedar.Forbid {
			effect = "forbid"
		}
		id := cmp.Or(string(policy.Annotations()["id"]), string(reason.PolicyID))
		by = append(by, accessapi.DecidingPolicy{ID: id, Effect: effect, Line: reason.Position.Line})
	}
	slices.SortFunc(by, func(x, y accessapi.DecidingPolicy) int { return cmp.Or(x.Line-y.Line, cmp.Compare(x.ID, y.ID)) })
	return decision == cedar.Allow, by
}
