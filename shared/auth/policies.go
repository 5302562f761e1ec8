package auth

import (
	"context"
	"time"

	cedar "github.com/cedar-policy/cedar-go"
)

// Policies say who may do what to which object, in the Cedar language: nothing is allowed
// but what a policy permits, and what one forbids is not allowed whatever the others say.
//
//	permit (
//	    principal in Group::"analysts",
//	    action in [Action::"read", Action::"InsertIntoTable"],
//	    resource in Namespace::"sales$eu"
//	);
//
// The principal is User::"<issuer>#<subject>" of a token, in Group, Role and Scope by its
// claims groups, roles and scope, with the attributes subject and issuer; User::"key:<name>"
// for an API key and User::"token" for the one token. An action is an operation by its name,
// in Action::"read" or Action::"write" and in the group of its endpoint, such as
// Action::"query". A resource is a Table, a Secret, a Function or a Namespace by its id with "$"
// between the parts, in the namespaces above it up to Namespace::"$", with the attribute name. The
// action Action::"UseLocation", in Action::"write", is asked about for the places that clients name
// for tables: Location::"s3://bucket/landing" holds what is below it. Action::"UseSecret", in
// Action::"write", is asked about for secrets whose values a function gets. Action::"ExplainOthers", in no
// other action, is asked about for Namespace::"$" when somebody wants to know what others may do.
//
// An object that the principal may not describe does not exist for it.
type Policies struct{ fetched[cedar.PolicySet] }

// OpenPolicies returns the policies of a text that fetch gets. It is asked for when first
// needed, and again after a minute, so that it can change.
func OpenPolicies(fetch func(context.Context) ([]byte, error), now func() time.Time) *Policies {
	return &Policies{fetched[cedar.PolicySet]{name: "policies", fetch: fetch, parse: parsePolicies, now: now}}
}

func parsePolicies(text []byte) (*cedar.PolicySet, error) {
	return cedar.NewPolicySetFromBytes("policies", text)
}

// CheckPolicies returns an error if the text is no text of policies.
func CheckPolicies(text []byte) error {
	_, err := parsePolicies(text)
	return err
}

// Check reads the policies now, and says what is wrong with them.
func (p *Policies) Check(ctx context.Context) error {
	_, err := p.read(ctx)
	return err
}
